/*
 * The controls of a report: states that set evidence, names that open tables, what is most informative, and costs.
 *
 * The facts are in the element #facts: {network, target, costs}. A control of state s of variable v is any element with
 * data-v and data-s; a button with data-t opens the table of a variable. Elements of the same state, in the picture, in
 * the list and in the dialog, are updated together. Scripts find window.tunbridge:
 *
 *     tunbridge.setEvidence("smoke", "yes")
 *     tunbridge.clearEvidence()
 *     tunbridge.posteriors()          // name → state → probability; null if the evidence is impossible
 */
(() => {
  "use strict";

  const byId = (id) => document.getElementById(id);
  const allOf = (selector) => [...document.querySelectorAll(selector)];
  const facts = JSON.parse(byId("facts").textContent);

  /** Return a probability in per cent as Python's percent() does. */
  function percent(share) {
    if (share > 0 && share < 0.0005) return "<0.1";
    if (share >= 0.9995 && share < 1) return ">99.9";
    return share > 0 && share < 1 ? (100 * share).toFixed(1) : (100 * share).toFixed(0);
  }

  // Tables

  const dialog = byId("dialog");

  /** Show the table of a variable, above it all its states. */
  function openTable(v) {
    const name = facts.network ? facts.network.variables[v].name : "";
    const states = document.querySelector(`#list fieldset[data-n="${v}"]`).cloneNode(true);
    byId("detail-name").textContent = name || states.querySelector("legend").textContent;
    states.querySelectorAll("[data-t], legend").forEach((element) => element.remove());
    byId("detail").replaceChildren(states, byId(`cpt-${v}`).content.cloneNode(true));
    collect();
    dialog.showModal();
  }

  if (dialog) {
    byId("close").addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    dialog.addEventListener("close", () => {
      byId("detail").replaceChildren();
      collect();
    });
  }

  // Evidence

  const engine = facts.network ? TunbridgeEngine(facts.network) : null;
  let controls = []; // {v, s, element, bar, track, number}
  let nodes = [];

  /** Find the controls of states, which the dialog adds to. */
  function collect() {
    nodes = allOf("[data-n]");
    controls = allOf("[data-s]").map((element) => ({
      element,
      v: Number(element.dataset.v),
      s: Number(element.dataset.s),
      bar: element.querySelector(".bar") ?? element.querySelector(".fill"),
      track: element.querySelector(".rail"),
      number: element.querySelector(".number"),
    }));
    if (engine) draw();
  }

  /** Show the posteriors for the present evidence; of impossible evidence, which findings contradict each other. */
  function draw() {
    const { variables } = engine;
    const given = engine.evidence();
    const posteriors = engine.posteriors();
    const known = Object.keys(given);
    for (const { element, v, s, bar, track, number } of controls) {
      const { name, states } = variables[v];
      const state = states[s];
      const isGiven = given[name] === state;
      element.setAttribute("aria-pressed", String(isGiven));
      element.classList.toggle("given", isGiven);
      const share = posteriors ? posteriors[name][state] : null;
      const text = share === null ? "–" : percent(share);
      number.textContent = text;
      if (track) bar.setAttribute("width", (share ?? 0) * track.width.baseVal.value);
      else bar.setAttribute("width", `${100 * (share ?? 0)}%`);
      element.setAttribute("aria-label", `${name}: ${state}, ${share === null ? "impossible evidence" : `${text} %`}`);
    }
    for (const node of nodes) node.classList.toggle("evidence", variables[node.dataset.n].name in given);
    byId("clear").disabled = known.length === 0;
    byId("status").classList.toggle("warn", posteriors === null);
    byId("status").textContent = statusOf(given, posteriors);
    later();
  }

  /** Return the findings and their probability in words. */
  function statusOf(given, posteriors) {
    const told = (names) => names.map((name) => `${name} = ${given[name]}`).join(", ");
    const known = Object.keys(given);
    if (known.length === 0) return "No evidence.";
    if (posteriors === null) {
      const clash = engine.conflict();
      const what = clash.length === 1 ? "is impossible" : "are impossible together";
      return `The evidence has probability 0: ${told(clash)} ${what}. Clear ${clash.length === 1 ? "it" : "one of them"}.`;
    }
    return `Evidence: ${told(known)}. Its probability is ${Number(Math.exp(engine.logEvidence()).toPrecision(4))}.`;
  }

  function setEvidence(name, state) {
    engine.setEvidence(name, state);
    draw();
  }

  function clearEvidence(name) {
    engine.clearEvidence(name);
    draw();
  }

  /** Set a state as evidence, or clear it if it is. */
  function press(element) {
    const { name, states } = engine.variables[element.dataset.v];
    const state = states[element.dataset.s];
    if (engine.evidence()[name] === state) clearEvidence(name);
    else setEvidence(name, state);
  }

  function act(element) {
    if (element.dataset.t !== undefined) openTable(Number(element.dataset.t));
    else if (engine) press(element);
  }

  document.addEventListener("click", (event) => {
    const element = event.target.closest("[data-s], [data-t]");
    if (element) act(element);
  });
  document.addEventListener("keydown", (event) => {
    const element = event.target.closest("svg [data-s], svg [data-t]"); // HTML buttons do this by themselves
    if (!element || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    act(element);
  });
  byId("clear")?.addEventListener("click", () => clearEvidence());

  const NARROWER = 0.75; // letters are still legible at this share of their size
  const NARROWEST = 0.4; // nodes of an overview can still be clicked

  /** Fit the picture to the width of the window, or show it in its size. */
  function fit(isFit) {
    byId("picture").classList.toggle("fit", isFit);
    byId("fit").setAttribute("aria-pressed", String(isFit));
  }

  if (byId("picture")) {
    const room = byId("picture").parentElement.clientWidth;
    const width = Number(byId("picture").getAttribute("width"));
    const isOverview = byId("picture").hasAttribute("data-overview");
    fit(width > room && (isOverview ? NARROWEST : NARROWER) * width <= room);
    byId("fit").addEventListener("click", () => fit(!byId("picture").classList.contains("fit")));
    const target = document.querySelector(`#picture [data-n="${facts.target}"]`);
    if (target) reveal(target);
    else byId("picture").parentElement.scrollLeft = (byId("picture").clientWidth - room) / 2;
  }

  // The search of an overview

  const MATCHES = 12;

  /** Mark the nodes whose names contain a text, bring the first into view, and list the first ones as buttons. */
  function find(text) {
    const wanted = text.trim().toLowerCase();
    const label = (node) => node.querySelector("title").textContent;
    const found = allOf("#picture .node").filter((node) => wanted !== "" && label(node).toLowerCase().includes(wanted));
    allOf("#picture .found").forEach((node) => node.classList.remove("found"));
    found.forEach((node) => node.classList.add("found"));
    const more = found.length > MATCHES ? `, the first ${MATCHES} below` : "";
    byId("matches-text").textContent = wanted === "" ? "" : `${found.length} found${more}`;
    byId("matches").replaceChildren(...found.slice(0, MATCHES).map((node) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.t = node.dataset.t;
      button.textContent = label(node);
      return button;
    }));
    if (found.length > 0) reveal(found[0]);
  }

  /** Scroll the picture, but not the page, to a node. */
  function reveal(node) {
    const frame = byId("picture").parentElement;
    const [inner, outer] = [node.getBoundingClientRect(), frame.getBoundingClientRect()];
    frame.scrollLeft += inner.left - outer.left - outer.width / 2;
    frame.scrollTop += inner.top - outer.top - outer.height / 2;
  }

  byId("search")?.addEventListener("input", (event) => find(event.target.value));

  // What is most informative about a variable: I(X; T | e) = Σ P(t | e) P(x | t, e) log (P(x | t, e) / P(x | e))

  const SHOWN = 12;

  /** Return the mutual information of each variable with a target in bits, given the evidence, the largest first. */
  function informations(target, posteriors) {
    const { name, states } = engine.variables[target];
    const sums = engine.variables.map(() => 0);
    for (const state of states) {
      const weight = posteriors[name][state];
      if (!(weight > 0)) continue;
      engine.setEvidence(name, state);
      const within = engine.posteriors();
      if (within === null) continue;
      engine.variables.forEach((variable, v) => {
        for (const x of variable.states) {
          const p = within[variable.name][x];
          if (p > 0) sums[v] += weight * p * Math.log2(p / posteriors[variable.name][x]);
        }
      });
    }
    engine.clearEvidence(name);
    const rows = sums.map((bits, v) => ({ v, name: engine.variables[v].name, bits: Math.max(0, bits) }));
    return rows.filter(({ v }) => v !== target).sort((a, b) => b.bits - a.bits);
  }

  function line(label, share, text) {
    const item = document.createElement("li");
    const [name, inner, number] = ["span", "bdi", "span"].map((tag) => document.createElement(tag));
    const [track, fill] = ["svg", "rect"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
    inner.textContent = label;
    name.append(inner);
    name.className = "label";
    number.className = "number";
    number.textContent = text;
    track.setAttribute("class", "track");
    fill.setAttribute("class", "fill");
    fill.setAttribute("width", `${100 * share}%`);
    fill.setAttribute("height", "100%");
    track.append(fill);
    item.append(name, track, number);
    return item;
  }

  function drawInformations() {
    const target = Number(byId("about").value);
    const posteriors = engine.posteriors();
    const given = engine.evidence();
    const isKnown = engine.variables[target].name in given;
    const isOpen = posteriors !== null && !isKnown;
    const all = isOpen ? informations(target, posteriors) : [];
    const found = all.filter(({ name, bits }) => bits >= 0.00005 && !(name in given));
    if (found.length === 0) {
      const item = document.createElement("li");
      const reason = isKnown ? "Its state is known." : "No other variable is informative.";
      item.textContent = posteriors === null ? "The evidence is impossible." : reason;
      byId("tells").replaceChildren(item);
      return;
    }
    const most = found[0].bits;
    byId("tells").replaceChildren(...found.slice(0, SHOWN).map((x) => line(x.name, x.bits / most, x.bits.toFixed(4))));
  }

  let timer = 0;

  /** Compute it when the clicks pause. */
  function later() {
    clearTimeout(timer);
    timer = setTimeout(drawInformations, 120);
  }

  byId("about")?.addEventListener("change", later);

  // Costs: the threshold for a ratio r of the costs is 1 / (1 + r), the decision of least expected cost

  function drawCosts() {
    const { label, positives, negatives, thresholds, recall, falseAlarms, rule } = facts.costs;
    const slider = byId("cost");
    const ratio = 10 ** (Number(slider.value) / 10);
    const cost = recall.map((r, i) => (ratio * positives * (1 - r) + negatives * falseAlarms[i]) / (positives + negatives));
    const best = cost.reduce((least, c, i) => (c < cost[least] ? i : least), 0);
    const at = rule[Number(slider.value) - Number(slider.min)];
    const plain = (value) => String(Number(value.toPrecision(3)));
    const threshold = plain(1 / (1 + ratio));
    byId("ratio").textContent = plain(ratio);
    slider.setAttribute("aria-valuetext", `${plain(ratio)} times`);
    const made = `Rows with P(${label}) ≥ ${threshold} are predicted as ${label}.`;
    const found = `This finds ${percent(recall[at])} % of the rows with ${label}; ${percent(falseAlarms[at])} % of the others are false alarms.`;
    const unit = `The cost per row is ${plain(cost[at])} (a false alarm costs 1)`;
    const least = best === 0 ? `predicting no row as ${label}` : `a threshold of ${plain(thresholds[best])}`;
    const rest = cost[at] - cost[best] > 1e-12 ? `; on these rows ${least} would cost least, ${plain(cost[best])}.` : ", the least of all thresholds on these rows.";
    byId("cost-text").textContent = `${made} ${found} ${unit}${rest}`;
    drawMatrix(recall[at] * positives, falseAlarms[at] * negatives);
    if (byId("threshold")) byId("threshold").textContent = threshold;
    const dot = byId("roc-dot");
    if (dot) {
      const { x, y, width, height } = dot.ownerSVGElement.querySelector(".frame");
      dot.setAttribute("cx", x.baseVal.value + width.baseVal.value * falseAlarms[at]);
      dot.setAttribute("cy", y.baseVal.value + height.baseVal.value * (1 - recall[at]));
    }
  }

  /** Show the confusion matrix, given the rows of the class and the other rows that are predicted as the class. */
  function drawMatrix(found, alarms) {
    const { code, positives, negatives } = facts.costs;
    allOf("#matrix tbody tr").forEach((row, i) => {
      const [called, all] = i === code ? [found, positives] : [alarms, negatives];
      row.querySelectorAll("td").forEach((cell, j) => {
        const count = j === code ? called : all - called;
        cell.querySelector("span").textContent = Number(count.toPrecision(6));
        cell.querySelector(".fill").setAttribute("width", `${all > 0 ? (100 * count) / all : 0}%`);
      });
    });
  }

  if (facts.costs) {
    byId("cost").addEventListener("input", drawCosts);
    drawCosts();
  }

  if (engine) {
    window.tunbridge = { setEvidence, clearEvidence, posteriors: () => engine.posteriors() };
  }
  collect();
})();
