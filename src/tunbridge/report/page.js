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
      else bar.style.width = `${100 * (share ?? 0)}%`;
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

  /** Fit the picture to the width of the window, or show it in its size. */
  function fit(isFit) {
    byId("picture").classList.toggle("fit", isFit);
    byId("fit").setAttribute("aria-pressed", String(isFit));
  }

  if (byId("picture")) {
    const room = byId("picture").parentElement.clientWidth;
    const width = Number(byId("picture").getAttribute("width"));
    fit(width > room && NARROWER * width <= room);
    byId("fit").addEventListener("click", () => fit(!byId("picture").classList.contains("fit")));
  }

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
    const [name, track, fill, number] = ["span", "span", "span", "span"].map((tag) => document.createElement(tag));
    const inner = document.createElement("bdi");
    inner.textContent = label;
    name.append(inner);
    [name.className, track.className, fill.className, number.className] = ["label", "track", "fill", "number"];
    fill.style.width = `${100 * share}%`;
    number.textContent = text;
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
      const reason = isKnown ? "It is known." : "No other variable is informative.";
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

  // Costs: the threshold of least cost, from the points of the ROC curve

  function drawCosts() {
    const { label, positives, negatives, thresholds, recall, falseAlarms } = facts.costs;
    const ratio = 10 ** (Number(byId("cost").value) / 10);
    const cost = recall.map((r, i) => (ratio * positives * (1 - r) + negatives * falseAlarms[i]) / (positives + negatives));
    const best = cost.reduce((least, c, i) => (c < cost[least] ? i : least), 0);
    const plain = (value) => Number(value.toPrecision(3));
    byId("ratio").textContent = plain(ratio);
    const rule = best === 0 ? `no row is called ${label}` : `a row is called ${label} from a probability of ${plain(thresholds[best])}`;
    const found = `${percent(recall[best])} % of its rows are found, ${percent(falseAlarms[best])} % of the others are false alarms`;
    byId("cost-text").textContent = `Least cost if ${rule}: ${found}; cost per row ${plain(cost[best])}.`;
    const dot = byId("roc-dot");
    if (dot) {
      const { x, y, width, height } = dot.ownerSVGElement.querySelector(".frame");
      dot.setAttribute("cx", x.baseVal.value + width.baseVal.value * falseAlarms[best]);
      dot.setAttribute("cy", y.baseVal.value + height.baseVal.value * (1 - recall[best]));
    }
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
