/*
 * Exact posteriors in a page: the junction tree of a discrete Bayesian network, with evidence set by clicks.
 *
 * The joint distribution is the product of the tables. Each table belongs to a clique of the tree, and so do the
 * likelihoods of each finding; φ_c is the product of those of clique c. Neighbours share a separator, and clique i sends
 * to its neighbour j the message (Shafer and Shenoy 1990)
 *
 *     m_ij(s) = Σ over the other variables of i:  φ_i · Π m_ki,    k over the neighbours of i except j.
 *
 * The belief of a clique, φ_i · Π m_ki over all neighbours k, is proportional to the distribution of its variables
 * given the evidence, and its sum is P(evidence). Nothing is divided by a message, so zeros are exact and evidence can
 * be taken back.
 *
 * Messages are kept. New evidence in clique c changes only those that lead away from c, half of all, and only in the
 * connected part of the network; they are marked stale, and computed when an answer is needed. A clique of n entries
 * with d stale neighbours sends to half of them with the messages of the other half multiplied in, and so on by halves:
 * O(n d log d).
 *
 * Each message is scaled to a maximum of 1, and the logarithm of its scale is kept. If a product becomes smaller than
 * 1e-290 without being zero (thousands of findings; probabilities such as 1e-300), the answer is computed on logarithms.
 *
 * The data come from network_data() in export.py, which describes them. No dependencies; one global name.
 * References: G. Shafer, P. P. Shenoy (1990). Probability propagation. Annals of Mathematics and Artificial
 * Intelligence 2, 327–351. F. V. Jensen, T. D. Nielsen (2007). Bayesian Networks and Decision Graphs, 2nd ed., ch. 4.
 */
const TunbridgeEngine = (() => {
  "use strict";

  const SMALL = 1e-290; // a smaller product has lost digits, or all of itself
  const shown = (value) => JSON.stringify(value) ?? String(value);

  // Arithmetic, on probabilities as they are or on their logarithms: map[i] is the entry of a message that belongs to
  // entry i of a clique's table.

  const PROBABILITIES = {
    one: 1,
    /** Return a probability as this arithmetic stores it. */
    of: (probability) => probability,
    /** Fill out with table · message; return whether a product was too small. out may be the table. */
    multiply(out, table, message, map) {
      let isLost = false;
      for (let i = 0; i < table.length; i++) {
        const a = table[i];
        const b = message[map[i]];
        out[i] = a * b;
        if (a * b < SMALL && a !== 0 && b !== 0) isLost = true;
      }
      return isLost;
    },
    /** Fill the message with sums of the table, scaled to a maximum of 1; return the logarithm of the scale. */
    sum(message, table, map) {
      message.fill(0);
      for (let i = 0; i < table.length; i++) message[map[i]] += table[i];
      const largest = message.reduce((a, b) => Math.max(a, b));
      if (largest > 0) for (let s = 0; s < message.length; s++) message[s] /= largest;
      return Math.log(largest);
    },
    /** Turn a table into probabilities, up to a factor; return the logarithm of the factor. */
    toProbabilities: () => 0,
  };

  const LOGARITHMS = {
    one: 0,
    of: Math.log,
    multiply(out, table, message, map) {
      for (let i = 0; i < table.length; i++) out[i] = table[i] + message[map[i]];
      return false;
    },
    sum(message, table, map) {
      message.fill(-Infinity);
      for (let i = 0; i < table.length; i++) message[map[i]] = Math.max(message[map[i]], table[i]);
      const total = new Float64Array(message.length);
      for (let i = 0; i < table.length; i++) {
        if (table[i] > -Infinity) total[map[i]] += Math.exp(table[i] - message[map[i]]);
      }
      for (let s = 0; s < message.length; s++) message[s] += Math.log(total[s]);
      const largest = message.reduce((a, b) => Math.max(a, b));
      if (largest > -Infinity) for (let s = 0; s < message.length; s++) message[s] -= largest;
      return largest;
    },
    toProbabilities(table) {
      const largest = table.reduce((a, b) => Math.max(a, b));
      for (let i = 0; i < table.length; i++) table[i] = table[i] > -Infinity ? Math.exp(table[i] - largest) : 0;
      return largest > -Infinity ? largest : 0;
    },
  };

  // The tree: what does not depend on numbers.

  /** Return the number of entries of a table over some variables. */
  function countEntries(scope, sizes) {
    return scope.reduce((product, v) => product * sizes[v], 1);
  }

  /** Return for each entry of a table over members (the last fastest) the entry of a table over scope, a part of it. */
  function mapEntries(members, scope, sizes) {
    const strides = new Map(scope.map((v, axis) => [v, countEntries(scope.slice(axis + 1), sizes)]));
    const map = new Int32Array(countEntries(members, sizes));
    let filled = 1;
    for (const v of [...members].reverse()) {
      const step = strides.get(v) ?? 0;
      for (let k = 1; k < sizes[v]; k++) {
        for (let i = 0; i < filled; i++) map[k * filled + i] = map[i] + k * step;
      }
      filled *= sizes[v];
    }
    return map;
  }

  /** Return probabilities from an array of numbers, or from the base64 text of little-endian doubles. */
  function readValues(values) {
    if (typeof values !== "string") return Float64Array.from(values);
    const bytes = Uint8Array.from(atob(values), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Float64Array.from({ length: bytes.length / 8 }, (_, i) => view.getFloat64(8 * i, true));
  }

  /**
   * Return the junction tree of exported data.
   *
   * sizes            the number of states of each variable
   * tables           {scope, clique, values}
   * cliques          {members, size, variables (whose marginals are taken here), links, up (null at a root)}, the one
   *                  above before those below
   * links            {number, size, to, outMap, inMap, back}: a message, which entry of it belongs to each entry of its
   *                  sender and of its receiver, and the message in the other direction
   * homes            the smallest clique of each variable
   */
  function plantTree(data) {
    const { sizes } = data;
    const grow = (members) => ({ members, size: countEntries(members, sizes), variables: [], links: [], up: null });
    const cliques = data.cliques.map(grow);
    const links = [];
    data.up.forEach((above, c) => {
      if (above < 0) return;
      const separator = cliques[c].members.filter((v) => cliques[above].members.includes(v));
      const [below, over] = [c, above].map((at) => mapEntries(cliques[at].members, separator, sizes));
      const size = countEntries(separator, sizes);
      const up = { number: links.length, size, to: above, outMap: below, inMap: over };
      const down = { number: links.length + 1, size, to: c, outMap: over, inMap: below, back: up };
      up.back = down;
      links.push(up, down);
      cliques[c].up = up;
      cliques[c].links.push(up);
      cliques[above].links.push(down);
    });
    const cliquesOf = sizes.map(() => []);
    cliques.forEach(({ members }, c) => members.forEach((v) => cliquesOf[v].push(c)));
    const smallest = (scope) =>
      scope
        .map((v) => cliquesOf[v])
        .reduce((fewest, some) => (some.length < fewest.length ? some : fewest))
        .filter((c) => scope.every((v) => cliques[c].members.includes(v)))
        .reduce((best, c) => (cliques[c].size < cliques[best].size ? c : best));
    const homes = sizes.map((_, v) => smallest([v]));
    data.variables.forEach((_, v) => cliques[homes[v]].variables.push(v));
    const values = readValues(data.values);
    let end = 0;
    const tables = data.scopes.map((scope) => {
      return { scope, clique: smallest(scope), values: values.subarray(end, (end += countEntries(scope, sizes))) };
    });
    return { sizes, tables, cliques, links, homes };
  }

  // Propagation: the numbers of one arithmetic, for the findings that the engine keeps.

  class Propagation {
    /**
     * likelihoods: for each variable null or the likelihoods of its states, the largest 1. They are the engine's, which
     * adds the home of a variable to changed after each change. isLost: a product was too small since discard().
     */
    constructor(tree, arithmetic, likelihoods) {
      Object.assign(this, { tree, arithmetic, likelihoods, isLost: false });
      this.potentials = tree.cliques.map(({ size }) => new Float64Array(size).fill(arithmetic.one));
      for (const { scope, clique, values } of tree.tables) this.multiplyIn(this.potentials, values, clique, scope);
      this.isHopeless = this.isLost; // the tables themselves are too small
      this.observed = this.potentials.slice(); // with the likelihoods in them; without any, the same arrays
      this.messages = tree.links.map(({ size }) => new Float64Array(size));
      this.logScales = new Float64Array(tree.links.length);
      this.isFresh = new Uint8Array(tree.links.length);
      this.buffers = [];
      this.discard();
    }

    /** Forget all messages, and that products were too small. */
    discard() {
      this.isFresh.fill(0);
      this.changed = new Set(this.tree.cliques.keys());
      this.isLost = false;
    }

    /** Return the logarithm of P(evidence) for likelihoods as scaled, −Infinity if it is zero. */
    logProbability() {
      this.collect();
      return this.tree.cliques.reduce((log, { up }, c) => {
        if (up !== null) return log + this.logScales[up.number];
        const { table, logFactor } = this.belief(c);
        return log + logFactor + Math.log(table.reduce((sum, p) => sum + p, 0));
      }, 0);
    }

    /** Return the distribution of each variable; the evidence must be possible. */
    marginals() {
      this.collect();
      this.distribute();
      const found = [];
      this.tree.cliques.forEach(({ members, variables }, c) => {
        const { table } = variables.length > 0 ? this.belief(c) : {};
        for (const v of variables) found[v] = this.marginal(table, members, v);
      });
      return found;
    }

    /** Return the distribution of a variable from the belief of a clique. */
    marginal(table, members, v) {
      const found = new Float64Array(this.tree.sizes[v]);
      const stride = countEntries(members.slice(members.indexOf(v) + 1), this.tree.sizes);
      for (let start = 0, k = 0; start < table.length; start += stride, k = (k + 1) % found.length) {
        let part = 0;
        for (let i = start; i < start + stride; i++) part += table[i];
        found[k] += part;
      }
      const total = found.reduce((sum, p) => sum + p, 0);
      return found.map((p) => p / total);
    }

    /** Return the belief of a clique as probabilities up to a factor, and the logarithm of the factor. */
    belief(c) {
      const table = this.buffer(c, 0);
      table.set(this.observed[c]);
      for (const { back } of this.tree.cliques[c].links) this.receive(table, table, back);
      return { table, logFactor: this.arithmetic.toProbabilities(table) };
    }

    /** Compute the stale messages toward the roots, after new likelihoods have been multiplied in. */
    collect() {
      for (const c of this.changed) this.observe(c);
      this.changed.clear();
      for (let c = this.tree.cliques.length - 1; c >= 0; c--) {
        const { up } = this.tree.cliques[c];
        if (up !== null && !this.isFresh[up.number]) this.send(c, [up]);
      }
    }

    /** Compute the stale messages away from the roots; those toward them are fresh. */
    distribute() {
      this.tree.cliques.forEach(({ links }, c) => {
        const stale = links.filter(({ number }) => !this.isFresh[number]);
        if (stale.length > 0) this.send(c, stale);
      });
    }

    /** Multiply the likelihoods of a clique into its potential, and mark all messages that depend on it as stale. */
    observe(c) {
      const isHere = (v) => this.likelihoods[v] !== null && this.tree.homes[v] === c;
      const found = this.tree.cliques[c].members.filter(isHere);
      this.observed[c] = found.length > 0 ? this.potentials[c].slice() : this.potentials[c];
      for (const v of found) this.multiplyIn(this.observed, this.likelihoods[v], c, [v]);
      const reached = [[c, -1]];
      while (reached.length > 0) {
        const [at, before] = reached.pop();
        for (const { number, to } of this.tree.cliques[at].links) {
          if (to !== before && this.isFresh[number]) {
            this.isFresh[number] = 0; // those behind a stale message are stale already
            reached.push([to, at]);
          }
        }
      }
    }

    /** Send messages from a clique to some neighbours; those of all other neighbours to it are fresh. */
    send(c, targets) {
      const isTarget = new Set(targets);
      const rest = this.tree.cliques[c].links.filter((link) => !isTarget.has(link));
      this.sendByHalves(c, this.product(c, this.observed[c], rest, 0), targets, 1);
    }

    sendByHalves(c, table, targets, depth) {
      if (targets.length === 1) {
        const { number, outMap } = targets[0];
        this.logScales[number] = this.arithmetic.sum(this.messages[number], table, outMap);
        this.isFresh[number] = 1;
        return;
      }
      const middle = targets.length >> 1;
      const [low, high] = [targets.slice(0, middle), targets.slice(middle)];
      this.sendByHalves(c, this.product(c, table, high, depth), low, depth + 1);
      this.sendByHalves(c, this.product(c, table, low, depth), high, depth + 1);
    }

    /** Return the product of a clique's table and the messages that come back along links, in the buffer of a depth. */
    product(c, table, links, depth) {
      if (links.length === 0) return table;
      const out = this.buffer(c, depth);
      links.forEach(({ back }, i) => this.receive(out, i === 0 ? table : out, back));
      return out;
    }

    receive(out, table, { number, inMap }) {
      if (this.arithmetic.multiply(out, table, this.messages[number], inMap)) this.isLost = true;
    }

    /** Multiply probabilities, or likelihoods, over some variables into the table of a clique. */
    multiplyIn(tables, values, c, scope) {
      const map = mapEntries(this.tree.cliques[c].members, scope, this.tree.sizes);
      if (this.arithmetic.multiply(tables[c], tables[c], values.map(this.arithmetic.of), map)) this.isLost = true;
    }

    /** Return memory for a table of a clique; cliques share it. */
    buffer(c, depth) {
      const { size } = this.tree.cliques[c];
      if (!(this.buffers[depth]?.length >= size)) this.buffers[depth] = new Float64Array(size);
      return this.buffers[depth].subarray(0, size);
    }
  }

  // The engine: names, findings, messages for people.

  /**
   * Return an engine for the data of network_data(). Its functions:
   *
   * variables                    [{name, states, parents}], parents by number
   * setEvidence(name, state)     state: its name, its index, or an array of likelihoods, one for each state
   * clearEvidence(name)          without a name all evidence
   * evidence()                   {name: state, or array of likelihoods}, in the order given
   * posteriors()                 {name: {state: probability}}; null if the evidence is impossible
   * logEvidence()                the natural logarithm of P(evidence); −Infinity if it is impossible
   * isPossible()                 whether P(evidence) > 0
   * conflict()                   names of findings that are impossible together, none of which can be left out; or []
   *
   * Names may be any text: the objects returned have no prototype. JavaScript lists keys that are integers first, so
   * take the order of states from variables.
   *
   *     const engine = TunbridgeEngine(data);
   *     engine.setEvidence("Rain", "yes");
   *     engine.posteriors()["Wet grass"]["no"];
   */
  function TunbridgeEngine(data) {
    if (data?.format !== 1) throw new Error(`data must have format 1; got ${shown(data?.format)}.`);
    const { variables } = data;
    const numbers = new Map(variables.map(({ name }, v) => [name, v]));
    const tree = plantTree(data);
    const likelihoods = tree.sizes.map(() => null);
    const findings = new Map(); // by variable number: {given, logLargest}
    const plain = new Propagation(tree, PROBABILITIES, likelihoods);
    let logarithms = null; // made when needed
    let found = {}; // answers for the present evidence, and whether it makes products too small

    /** Return an answer from probabilities, or from logarithms where these are too small. */
    function ask(question) {
      if (!plain.isHopeless && !found.isSmall) {
        const answer = question(plain);
        if (!plain.isLost) return answer;
        plain.discard();
        found.isSmall = true;
      }
      logarithms ??= new Propagation(tree, LOGARITHMS, likelihoods);
      return question(logarithms);
    }

    function change(v, likelihood) {
      likelihoods[v] = likelihood;
      plain.changed.add(tree.homes[v]);
      logarithms?.changed.add(tree.homes[v]);
      found = {};
    }

    function numberOf(name) {
      if (numbers.has(name)) return numbers.get(name);
      const hint = "The list is in variables.";
      throw new Error(`evidence must name variables of the network; got ${shown(name)}. ${hint}`);
    }

    function codeOf({ name, states }, state) {
      const code = typeof state === "number" ? state : states.indexOf(state);
      if (states[code] !== undefined) return code;
      const known = states.map(shown).join(", ");
      throw new Error(`evidence must give a state of ${shown(name)}; got ${shown(state)}. Known: ${known}.`);
    }

    /** Return likelihoods with a maximum of 1, and the logarithm of their maximum. */
    function scaled({ name, states }, given) {
      const largest = Math.max(...given);
      const isValid = (x) => x === 0 || (x > 0 && x / largest > SMALL);
      if (given.length === states.length && largest > 0 && largest < Infinity && given.every(isValid)) {
        return [Float64Array.from(given, (x) => x / largest), Math.log(largest)];
      }
      const rule = `${states.length} numbers, each 0 or at least ${SMALL} of the largest`;
      throw new Error(`the likelihoods of ${shown(name)} must be ${rule}; got ${shown(given)}.`);
    }

    function setEvidence(name, state) {
      const v = numberOf(name);
      const isSoft = typeof state === "object" && state !== null;
      const given = isSoft ? Object.freeze(Array.from(state)) : variables[v].states[codeOf(variables[v], state)];
      const values = isSoft ? given : variables[v].states.map((one) => Number(one === given));
      const [likelihood, logLargest] = scaled(variables[v], values);
      findings.set(v, { given, logLargest });
      change(v, likelihood);
    }

    function clearEvidence(name) {
      for (const v of name === undefined ? [...findings.keys()] : [numberOf(name)]) {
        findings.delete(v);
        change(v, null);
      }
    }

    function evidence() {
      const given = Object.create(null);
      findings.forEach((finding, v) => (given[variables[v].name] = finding.given));
      return given;
    }

    function logEvidence() {
      found.logScaled ??= Math.min(0, ask((run) => run.logProbability())); // without rounding errors above ln 1
      return [...findings.values()].reduce((log, { logLargest }) => log + logLargest, found.logScaled);
    }

    const isPossible = () => logEvidence() > -Infinity;

    function posteriors() {
      if (!isPossible()) return null;
      found.marginals ??= ask((run) => run.marginals());
      const named = Object.create(null);
      variables.forEach(({ name, states }, v) => {
        const probabilities = Object.create(null);
        states.forEach((state, k) => (probabilities[state] = found.marginals[v][k]));
        named[name] = probabilities;
      });
      return named;
    }

    function conflict() {
      if (isPossible()) return [];
      const kept = new Map([...findings.keys()].map((v) => [v, likelihoods[v]]));
      for (const [v, likelihood] of kept) {
        change(v, null);
        if (isPossible()) change(v, likelihood);
      }
      const needed = [...kept.keys()].filter((v) => likelihoods[v] !== null);
      kept.forEach((likelihood, v) => change(v, likelihood));
      return needed.map((v) => variables[v].name);
    }

    return { variables, setEvidence, clearEvidence, evidence, posteriors, logEvidence, isPossible, conflict };
  }

  return TunbridgeEngine;
})();
