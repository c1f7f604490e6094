// The page: its state, and the actions of buttons and keys.

const data = JSON.parse(document.getElementById('data').textContent);
const $ = id => document.getElementById(id);
const state = {which: 0, lost: new Set(), round: 0, rank: 0, timer: 0, critical: false, failure: -1, step: -1, follow: false, lanes: 'extract', end: false};
const maxWhole = 64; // the greatest number of ranks that a page offers to show in full
let view;

// world returns the faults of the shown run: the losses chosen here, and the assumptions of the
// counterexample.
function world(p) {
  const f = data.failures[state.failure];
  return {
    lost: (from, to, name) => state.lost.has(legKey(from, to, name)),
    every: Boolean(f && f.every),
    without: new Set(f ? f.without.map(w => slotOf(p, w.rank, w.slot)) : []),
  };
}

// look computes the run, and the parts of its picture.
function look() {
  const p = number(data.schedules[state.which], data.rows[state.which]), run = solve(p, world(p)), all = legs(run);
  view = {p, run, legs: all, returns: returns(run), critical: critical(run), picked: state.rank};
  view.last = all.reduce((last, l) => Math.max(last, l.arrive), 0);
  view.folds = run.queue.filter(slot => foldOf(run, slot)).map(slot => ({slot, round: run.slots[slot], rank: p.rankOf[slot], name: p.names[slot]}));
  view.steps = steps();
  Object.assign(view, extract(view, data.extracts[state.which], state.lanes));
  view.rounds = roundsOf(view);
  view.drawn = drawable(view);
  view.ghosts = view.steps.filter(s => view.run.slots[s.id] < 0).map((s, i) => ({...s, key: `ghost ${i}`, text: tellStep(view, s)}));
}

// drawable returns the legs to draw. If there are too many, it leaves out later chunks.
function drawable(view) {
  const all = view.legs.filter(l => within(view, l) && view.rounds.has(l.arrive));
  view.cut = all.length > most.legs;
  if (!view.cut) return all;
  let chunks = view.p.chunks;
  const early = l => l.name[0] !== 'c' || Number(l.names[0].slice(1)) < chunks;
  while (chunks > 1 && all.filter(early).length > most.legs) chunks = Math.floor(chunks / 2);
  return all.filter(early).slice(0, most.legs);
}

// steps returns the path of the counterexample, causes first. If verify gives no path, it returns
// the steps that put the slots of the counterexample.
function steps() {
  const f = data.failures[state.failure];
  if (!f) return [];
  let path = f.path;
  const first = path[0], last = path[path.length - 1];
  if (path.length > 1 && first.rank === last.rank && first.slot === last.slot) path = path.slice(0, -1); // a cycle
  if (!path.length) {
    path = f.places.flatMap(at => {
      const into = view.legs.filter(l => l.to === at.rank && l.names.includes(at.slot));
      return into.length ? into.map(l => ({...at, from: l.from})) : [{...at, from: -1}];
    });
  }
  const known = path.map(s => ({...s, id: slotOf(view.p, s.rank, s.slot)}));
  if (known.every(s => view.run.slots[s.id] >= 0)) known.reverse();
  return known.map((s, index) => ({...s, index}));
}

function refresh() {
  const focus = document.activeElement && document.activeElement.getAttribute('data-key');
  look();
  state.round = state.end ? view.last : Math.min(state.round, view.last);
  $('scrub').max = view.last;
  const g = draw($('diagram'), view, $('scroll').clientWidth - 16);
  view.x = g.x;
  for (const node of casts()) node.onclick = () => toggle(node.getAttribute('data-key'));
  for (const node of $('diagram').querySelectorAll('.dot')) node.onclick = () => say(node.querySelector('title').textContent + '.');
  for (const node of $('diagram').querySelectorAll('.lane')) node.onclick = () => pick(Number(node.getAttribute('data-rank')), true);
  rove(focus);
  header();
  failure();
  paint();
  edges();
}

// edges shows whether the picture goes on beyond the edges of its frame. The frame may have no
// visible scroll bar.
function edges() {
  const s = $('scroll'), before = s.scrollLeft > 1, after = s.scrollLeft + s.clientWidth < s.scrollWidth - 1;
  $('more').hidden = !before && !after;
  $('earlier').disabled = !before;
  $('later').disabled = !after;
  s.classList.toggle('before', before);
  s.classList.toggle('after', after);
}

function turn(pages) {
  $('scroll').scrollLeft += pages * 0.7 * $('scroll').clientWidth;
  edges();
}

// reveal scrolls to a round that the frame does not show.
function reveal(round) {
  const s = $('scroll'), at = view.x[round];
  if (at < s.scrollLeft || at > s.scrollLeft + s.clientWidth - 24) s.scrollLeft = at - s.clientWidth / 2;
}

function casts() { return [...$('diagram').querySelectorAll('[data-key]')]; }

// rove puts one multicast into the order of the tab key; M reaches the others.
function rove(key) {
  const all = casts(), at = all.find(n => n.getAttribute('data-key') === key);
  for (const n of all) n.setAttribute('tabindex', -1);
  if (all.length) (at || all[0]).setAttribute('tabindex', 0);
  if (at) at.focus();
}

function header() {
  const s = view.p.schedule, left = tellExtract(view);
  $('name').textContent = `${s.collective}/${s.algorithm}`;
  $('facts').textContent = view.p.row.facts.join(' · ');
  $('totals').textContent = tellTotals(view);
  $('losses').hidden = $('losekeys').hidden = !view.legs.some(l => l.kind === 'mcast');
  $('limits').hidden = !left;
  $('limits').textContent = left;
  $('shown').hidden = !data.extracts[state.which].ranks.length;
  legend();
}

function legend() {
  const used = data.kinds.filter(kind => view.legs.some(l => l.kind === kind.id));
  const items = used.map(kind => [kind.id, view.legs.some(l => l.kind === kind.id && l.names.length > 1) ? kind.many : kind.name]);
  if (view.legs.some(l => l.lost)) items.push(['lost', 'lost']);
  if (view.legs.some(l => l.late)) items.push(['late', 'late: it has not arrived yet']);
  if (view.steps.some(s => s.from >= 0 && view.run.slots[s.id] >= 0)) items.push(['path', 'the counterexample']);
  if (view.ghosts.length) items.push(['ghost path', 'never happens']);
  $('legend').replaceChildren(...items.map(([kind, word]) => item(sample(kind), word)),
    ...(view.folds.length ? [item(foldSample(), 'fold: click it to see its order')] : []), item(homeSample(), 'the call has returned'));
}

function sample(kind) {
  const box = svg('svg', {width: 38, height: 12, 'aria-hidden': true});
  const leg = svg('g', {class: `leg ${kind}`, style: kindStyle(kind === 'lost' ? 'mcast' : kind === 'late' ? 'put' : kind)}); // kind is a class of .leg, too
  leg.append(...strokes({x1: 1, y1: 6, x2: 37, y2: 6}, kind, isOpen(kind)));
  box.append(leg);
  return box;
}

function foldSample() {
  return svg('svg', {width: 20, height: 14, 'aria-hidden': true}, svg('path', {class: 'dot fold', d: diamond(10, 7, 6)}));
}

function homeSample() {
  return svg('svg', {width: 38, height: 12, 'aria-hidden': true},
    svg('g', {class: 'lane back'}, svg('line', {class: 'home', x1: 1, x2: 37, y1: 6, y2: 6})));
}

function item(...children) {
  const li = document.createElement('li');
  li.append(...children);
  return li;
}

// isOpen reports whether arrows of a kind have unfilled heads.
function isOpen(kind) { return data.kinds.some(k => k.id === kind && k.open); }

// paint shows the current round: past, present and future transfers.
function paint() {
  const {round} = state;
  $('round').textContent = `${round} of ${view.last}`;
  $('scrub').value = round;
  $('scrub').setAttribute('aria-valuetext', `round ${round} of ${view.last}`);
  $('first').disabled = $('back').disabled = round === 0;
  $('step').disabled = $('end').disabled = round === view.last;
  $('diagram').querySelectorAll('.leg:not(.ghost)').forEach((node, i) => paintLeg(node, view.drawn[i]));
  for (const t of view.trunks) paintTrunk(t);
  paintTimes();
  paintSteps();
  const now = $('diagram').querySelector('.now');
  if (now) now.setAttribute('x1', view.x[round]), now.setAttribute('x2', view.x[round]);
  tellPicked();
}

// own reports whether an arrow is highlighted, if some are.
function own(l) { return state.critical ? l.first && l.slots.some(slot => view.critical.has(slot)) : l.from === state.rank || l.to === state.rank; }

function paintTrunk({legs, node}) {
  node.classList.toggle('future', legs[0].arrive > state.round);
  node.classList.toggle('own', legs.some(own));
}

function paintLeg(node, l) {
  const {round} = state, on = view.steps.findIndex(s => l.slots.includes(s.id) && s.from === l.from);
  node.classList.toggle('future', l.arrive > round);
  node.classList.toggle('now', l.arrive === round);
  node.classList.toggle('own', own(l));
  node.classList.toggle('path', on >= 0);
  node.classList.toggle('at', on >= 0 && on === state.step);
}

function paintTimes() {
  $('diagram').classList.toggle('focus', state.critical || state.follow);
  for (const d of $('diagram').querySelectorAll('.dot')) d.classList.toggle('future', Number(d.dataset.round) > state.round);
  for (const lane of $('diagram').querySelectorAll('.lane')) {
    const back = Number(lane.dataset.returns);
    lane.classList.toggle('back', back >= 0 && back <= state.round);
    lane.classList.toggle('picked', Number(lane.dataset.rank) === state.rank);
  }
}

// tellPicked fills the panel of the picked rank.
function tellPicked() {
  const {rank, round} = state, e = view.run, p = view.p, waits = pending(view, rank, round);
  const has = e.queue.filter(slot => p.rankOf[slot] === rank && e.slots[slot] <= round);
  $('rank').value = rank;
  $('doing').textContent = tellRank(view, rank, round);
  fill($('waits'), waits.map(s => entry(p.names[s], tellSources(view, s))), 'nothing');
  fill($('has'), has.map(s => entry(p.names[s], tellHow(view, s))), 'nothing yet');
  const own = p.rules.flatMap((rule, id) => rule.rank === rank ? [id] : []);
  fill($('rules'), own.map(id => {
    const told = tellRule(view, id, round), li = entry(p.rules[id].text, told.text);
    li.className = told.state;
    return li;
  }), 'none');
}

function fill(ul, items, none) {
  const most = 60;
  const rest = items.length > most ? [item(`… ${items.length - most} more`)] : [];
  ul.replaceChildren(...(items.length ? items.slice(0, most) : [item(none)]), ...rest);
}

function entry(name, text) {
  const code = document.createElement('code'), small = document.createElement('small');
  code.textContent = name;
  small.textContent = text;
  return item(code, small);
}

function say(text) { $('say').textContent = text; }

function go(round) {
  state.round = Math.max(0, Math.min(view.last, round));
  state.end = state.round === view.last; // stay at the end if the run changes
  if (state.end) pause();
  paint();
  reveal(state.round);
  say(tellRound(view, state.round));
}

// step goes to the next or the previous shown round.
function step(by) {
  const rounds = [0, ...view.rounds, view.last];
  go(by > 0 ? rounds.find(r => r > state.round) ?? view.last : rounds.findLast(r => r < state.round) ?? 0);
}

function play() {
  if (state.round === view.last) go(0);
  state.timer = setInterval(() => step(1), Number($('speed').value));
  $('play').textContent = '❚❚ Pause';
}

function pause() {
  clearInterval(state.timer);
  state.timer = 0;
  $('play').textContent = '▶ Play';
}

// toSee goes from the beginning of the run to its end, so that the effect of a changed loss is
// visible.
function toSee() { if (state.round === 0) state.end = true; }

function toggle(key) {
  toSee();
  const lose = !state.lost.delete(key);
  if (lose) state.lost.add(key);
  refresh();
  const l = view.legs.find(x => x.key === key && x.kind === 'mcast');
  if (l) say(lose ? tellLoss(view, l) : `The multicast of ${l.name} from rank ${l.from} to rank ${l.to} arrives.`);
}

function loseAll(lose) {
  toSee();
  state.lost.clear();
  // Losses change the messages that are sent: repeat until all of them are lost.
  for (let before = -1; lose && state.lost.size > before;) {
    before = state.lost.size;
    for (const l of view.legs) if (l.kind === 'mcast') state.lost.add(l.key);
    look();
  }
  refresh();
  say(lose ? `All multicasts are lost. ${tellTotals(view)}.` : 'Every multicast arrives.');
}

function pick(rank, follow) {
  state.follow = follow && !(state.follow && state.rank === rank);
  state.rank = rank;
  if (state.lanes === 'part') refresh(); else paint();
  say(tellRank(view, rank, state.round));
}

function refute(index) {
  state.failure = index;
  state.step = -1;
  const f = data.failures[index];
  look();
  if (f) loseAll(f.allLost); else refresh();
  go(view.last);
  if (f) say(`This run shows the failure.${view.steps.length ? ' Press P to go through its steps.' : ''}`);
}

// failure fills the banner with the counterexample.
function failure() {
  const f = data.failures[state.failure];
  $('refuted').hidden = data.failures.length === 0;
  $('why').textContent = f ? f.text : '';
  $('path').replaceChildren(...view.steps.map(s => {
    const button = document.createElement('button');
    button.textContent = tellStep(view, s);
    button.onclick = () => toStep(s.index);
    return item(button);
  }));
}

function toStep(index) {
  if (!view.steps.length) return;
  state.step = (index + view.steps.length) % view.steps.length;
  const s = view.steps[state.step], at = view.run.slots[s.id];
  go(at < 0 ? view.last : at);
  say(`Step ${state.step + 1} of ${view.steps.length}: ${tellStep(view, s)}.`);
}

function paintSteps() {
  [...$('path').querySelectorAll('button')].forEach((b, i) => i === state.step ? b.setAttribute('aria-current', 'step') : b.removeAttribute('aria-current'));
  for (const n of $('diagram').querySelectorAll('.ghost')) n.classList.toggle('at', Number(n.dataset.step) === state.step);
}

function nextCast(by) {
  const all = casts();
  if (!all.length) return say('There is no multicast.');
  const at = all.indexOf(document.activeElement);
  rove(all[at < 0 ? (by > 0 ? 0 : all.length - 1) : (at + by + all.length) % all.length].getAttribute('data-key'));
}

function loseFocused() {
  const key = document.activeElement.getAttribute('data-key');
  if (key) toggle(key); else say('Press M to focus a multicast first.');
}

function help() {
  $('help').hidden = !$('help').hidden;
  $('helpkey').setAttribute('aria-expanded', !$('help').hidden);
}

const keys = {
  ' ': () => state.timer ? pause() : play(), ArrowLeft: () => step(-1), ArrowRight: () => step(1),
  Home: () => go(0), End: () => go(view.last), m: e => nextCast(e.shiftKey ? -1 : 1), l: loseFocused, Enter: loseFocused,
  a: () => loseAll(true), n: () => loseAll(false), c: () => $('critical').click(), '?': help, p: e => toStep(state.step + (e.shiftKey ? -1 : 1)),
  r: e => pick((state.rank + (e.shiftKey ? view.p.ranks - 1 : 1)) % view.p.ranks, true),
};

// onKey handles keys, except those that the focused control uses itself.
function onKey(event) {
  const own = {BUTTON: [' ', 'Enter'], SELECT: null, INPUT: [' ', 'ArrowLeft', 'ArrowRight', 'Home', 'End']}[event.target.tagName];
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const outside = key === 'Enter' && !event.target.hasAttribute('data-key');
  if (event.ctrlKey || event.altKey || event.metaKey || !keys[key] || outside || own === null || (own && own.includes(key))) return;
  event.preventDefault();
  keys[key](event);
}

function options(select, list) {
  select.replaceChildren(...list.map(([value, text]) => new Option(text, value)));
}

function start() {
  const s = data.schedules[0], {root} = data.rows[0];
  options($('root'), data.schedules.map((x, i) => [i, x.root]));
  options($('rank'), [...Array(s.ranks).keys()].map(r => [r, r]));
  options($('lanes'), [['extract', 'extract'], ['path', 'critical path'], ['part', 'one rank'], ...(s.ranks > maxWhole ? [] : [['all', 'all ranks']])]);
  options($('failure'), [...data.failures.map((f, i) => [i, f.check]), [-1, 'none: a normal run']]);
  $('rootword').textContent = root && root[0].toUpperCase() + root.slice(1);
  $('rooted').hidden = data.schedules.length < 2;
  $('root').value = state.which = data.start;
  $('command').textContent = data.command;
  wire();
  refresh();
  if (data.failures.length) return refute(0);
  open();
}

// open shows the beginning of the run.
function open() {
  go(0);
  state.end = false;
  const lose = $('losses').hidden ? '' : ' Click an arrow of a multicast to lose it.';
  say(`${tellRound(view, 0)} ${tellEnd(view)} Press Play to see how.${lose}`);
}

function wire() {
  const click = {first: keys.Home, back: keys.ArrowLeft, play: keys[' '], step: keys.ArrowRight, end: keys.End, loseall: keys.a, restore: keys.n, helpkey: help};
  for (const [id, act] of Object.entries(click)) $(id).onclick = act;
  $('earlier').onclick = () => turn(-1);
  $('later').onclick = () => turn(1);
  $('scroll').onscroll = edges;
  $('scrub').oninput = () => go(Number($('scrub').value));
  $('speed').onchange = () => { if (state.timer) pause(), play(); };
  $('root').onchange = () => changeRoot(Number($('root').value));
  $('rank').onchange = () => pick(Number($('rank').value), true);
  $('lanes').onchange = () => { state.lanes = $('lanes').value; refresh(); };
  $('failure').onchange = () => refute(Number($('failure').value));
  $('critical').onchange = () => { state.critical = $('critical').checked; paint(); };
  document.addEventListener('keydown', onKey);
  let width = 0;
  new ResizeObserver(([box]) => { if (Math.abs(box.contentRect.width - width) > 1) width = box.contentRect.width, refresh(); }).observe($('scroll'));
}

function changeRoot(which) {
  pause();
  state.which = which;
  state.lost.clear();
  refresh();
  open();
}

start();
