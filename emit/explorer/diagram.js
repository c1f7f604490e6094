// The picture has a lane for every shown rank, and rounds from left to right. It is built anew for
// every run. A step in time only changes classes.

const most = {lanes: 32, rounds: 40, legs: 1200}; // of an extract; beyond this number of legs, arrows of later chunks are left out
const gutter = 74, headroom = 30, gap = 24;

function svg(name, attrs = {}, ...children) {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attrs)) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

function kindStyle(kind) { return ['', '-width', '-dash'].map(part => `--kind${part}: var(--${kind}${part})`).join('; '); }

// layout returns the position of everything: lanes by rank, rounds by column. Transfers of one
// round that would cover each other start at different places in it. Rounds that are left out share
// a gap.
function layout(view, width) {
  const g = {view, pitch: pitchOf(view.lanes.length), tracks: [], x: [gutter]};
  for (let round = 1; round <= view.last; round++) g.tracks.push(view.rounds.has(round) ? tracksOf(view, round) : null);
  if (view.ghosts.length) g.tracks.push(new Map(view.ghosts.map((s, i) => [s.key, i])));
  const least = g.tracks.map((t, i) => t ? leastWidth(g, t, i + 1) : g.tracks[i - 1] === null ? 0 : gap);
  const spare = Math.max(0, width - gutter - 24 - least.reduce((a, b) => a + b, 0)), shown = g.tracks.filter(t => t).length;
  const extra = shown ? Math.min(spare / shown, 380) : 0;
  least.forEach((w, i) => g.x.push(g.x[i] + w + (g.tracks[i] ? extra : 0)));
  g.width = Math.max(g.x[g.x.length - 1] + 24, 200);
  g.height = headroom + view.lanes.length * g.pitch + 6;
  return g;
}

// leastWidth returns the least width of a round. Its arrows start side by side, and many crossing
// arrows need room. A narrower page scrolls.
function leastWidth(g, tracks, round) {
  const crossing = g.view.drawn.filter(l => l.arrive === round && l.kind !== 'mcast').length;
  return 56 + 12 * Math.min(Math.max(tracks.size - 1, 0), 12) + 6 * Math.min(crossing, 40);
}

function pitchOf(ranks) { return ranks <= 8 ? 50 : ranks <= 16 ? 32 : ranks <= 32 ? 22 : 16; }

function laneY(g, rank) { return headroom + (g.view.at.get(rank) + 0.5) * g.pitch; }

function trackOf(l) { return l.name[0] === 's' ? l.kind : `${l.kind} ${l.name}`; }

function tracksOf(view, round) {
  const keys = view.drawn.filter(l => l.arrive === round).map(trackOf);
  return new Map([...new Set(keys)].map((key, i) => [key, i]));
}

function ends(g, column, key, from, to) {
  const tracks = g.tracks[column], n = tracks.size, i = tracks.get(key) || 0;
  const a = g.x[column], b = g.x[column + 1], room = Math.min((b - a) * 0.35, 12 * (n - 1));
  const at = n > 1 ? room * i / (n - 1) : 0;
  return {x1: a + 4 + at, y1: laneY(g, from), x2: b - 5 - room + at, y2: laneY(g, to)};
}

function draw(root, view, width) {
  const g = layout(view, width);
  const lanes = view.lanes.map(rank => lane(g, rank, view.returns[rank]));
  g.labels = labels(g);
  view.trunks = trunks(g);
  root.replaceChildren(...lanes, axis(g), ...view.trunks.map(t => t.node), ...view.drawn.map(l => legNode(g, l)),
    ...view.ghosts.map(s => ghostNode(g, s)), ...dots(g));
  root.setAttribute('width', g.width);
  root.setAttribute('height', g.height);
  root.setAttribute('viewBox', `0 0 ${g.width} ${g.height}`);
  return g;
}

function lane(g, rank, back) {
  const y = laneY(g, rank), right = g.width - 8, {schedule: s, row} = g.view.p;
  const node = svg('g', {class: 'lane', 'data-rank': rank, 'data-returns': back});
  node.append(
    svg('rect', {class: 'band', x: 0, y: y - g.pitch / 2, width: g.width, height: g.pitch}),
    svg('line', {class: 'wire', x1: gutter - 6, x2: right, y1: y, y2: y}),
    svg('text', {class: 'name', x: 8, y: y + 4}, String(rank)));
  if (back >= 0) node.append(svg('line', {class: 'home', x1: g.x[Math.min(back, g.x.length - 1)], x2: right, y1: y, y2: y}));
  if (rank === s.root && row.root) node.append(svg('text', {class: 'tag', x: 16 + 8 * String(rank).length, y: y + 4}, row.root));
  if (g.view.run.slots[g.view.p.base[rank]] < 0) node.append(svg('text', {class: 'tag absent', x: 16 + 8 * String(rank).length, y: y + 4}, 'absent'));
  return node;
}

function axis(g) {
  const node = svg('g', {class: 'axis'});
  if (g.view.ghosts.length) {
    const a = g.x[g.x.length - 2], b = g.x[g.x.length - 1];
    node.append(svg('rect', {class: 'never', x: a + 10, y: headroom - 4, width: b - a + 6, height: g.height - headroom}),
      svg('text', {x: (a + b) / 2 + 12, y: 16}, 'never'));
  }
  const border = round => svg('line', {x1: g.x[round], x2: g.x[round], y1: headroom - 4, y2: g.height - 4});
  node.append(border(0), svg('text', {x: g.x[0], y: 16}, '0'));
  for (const round of g.view.rounds) {
    if (round > 1 && !g.view.rounds.has(round - 1)) node.append(border(round - 1), svg('text', {x: g.x[round - 1] - gap / 2, y: 16}, '…'));
    node.append(border(round), svg('text', {x: g.x[round], y: 16}, String(round)));
  }
  node.append(svg('line', {class: 'now', y1: headroom - 8, y2: g.height - 2}));
  return node;
}

// armOf returns the line of a transfer's arrow. A multicast is a comb: a trunk across the lanes,
// and an arm along the lane of each receiver.
function armOf(g, l) {
  const at = ends(g, l.arrive - 1, trackOf(l), l.from, l.to);
  return l.kind === 'mcast' ? {...at, x1: trunkX(at), y1: at.y2} : at;
}

function trunkX(at) { return at.x1 + (at.x2 - at.x1) * 0.25; }

// gather groups things by key, in the order in which keys first occur.
function gather(things, key) {
  const by = new Map();
  for (const x of things) {
    const k = key(x);
    if (!by.has(k)) by.set(k, []);
    by.get(k).push(x);
  }
  return [...by.values()];
}

// trunks draws the trunk of each multicast. Of several side by side, the middle one has the label.
function trunks(g) {
  const combs = gather(g.view.drawn.filter(l => l.kind === 'mcast'), l => `${l.arrive} ${l.from} ${l.name}`);
  return gather(combs, ([l]) => `${l.arrive} ${l.from}`).flatMap(beside => beside.map((legs, i) => {
    const names = beside.map(([l]) => Number(l.name.slice(1)));
    return {legs, node: trunk(g, legs, i === Math.floor(beside.length / 2) ? 'c' + spans(names) : '')};
  }));
}

function trunk(g, legs, carried) {
  const [l] = legs, at = ends(g, l.arrive - 1, trackOf(l), l.from, l.to), x = trunkX(at);
  const ys = legs.map(k => laneY(g, k.to)), low = Math.min(at.y1, ...ys), high = Math.max(at.y1, ...ys);
  const node = svg('g', {class: 'trunk mcast', style: kindStyle('mcast'), 'data-arrive': l.arrive});
  node.append(svg('path', {class: 'shaft', d: `M${at.x1} ${at.y1}H${x}M${x} ${low}V${high}`}));
  if (carried) node.append(svg('text', {class: 'label', x, y: low - 6}, carried));
  return node;
}

function legNode(g, l) {
  const at = armOf(g, l);
  const what = `${l.kind === 'mcast' ? 'multicast of ' : ''}${few(l.names, 12)} from rank ${l.from} to rank ${l.to}, round ${l.arrive}`;
  const node = svg('g', {
    class: `leg ${l.kind}${l.lost ? ' lost' : l.late ? ' late' : l.first ? '' : ' again'}`, style: kindStyle(l.kind),
    'data-kind': l.kind, 'data-from': l.from, 'data-to': l.to, 'data-slot': l.names.join(' '), 'data-arrive': l.arrive,
  }, svg('title', {}, what + (l.lost ? ', lost' : l.late ? ', late: it has not arrived yet' : l.first ? '' : ', not the first copy')));
  if (l.kind === 'mcast') {
    for (const [key, value] of [['role', 'button'], ['tabindex', -1], ['aria-pressed', l.lost], ['aria-label', `Lose the ${what}`], ['data-key', l.key]]) node.setAttribute(key, value);
  }
  node.append(...strokes(at, l.lost ? 'lost' : l.late ? 'late' : '', isOpen(l.kind)));
  const label = g.labels.get(l);
  if (label) node.append(tag(at, label.text, label.part));
  return node;
}

// strokes draws an arrow. A lost one ends in a cross, and a late one fades out.
function strokes(at, fate, open) {
  const {x1, y1, x2, y2} = at, length = Math.hypot(x2 - x1, y2 - y1) || 1, lost = fate === 'lost', late = fate === 'late';
  const ux = (x2 - x1) / length, uy = (y2 - y1) / length, ex = lost ? x2 - 5 : x2, ey = y2;
  const short = late ? length / 2 : lost || open ? 0 : 6, wing = side => `${ex - 9 * ux - 4 * side * uy} ${ey - 9 * uy + 4 * side * ux}`;
  const head = lost ? `M${ex - 5} ${ey - 5}l10 10m0 -10l-10 10` : late ? `M${(x1 + x2) / 2} ${(y1 + y2) / 2}L${x2} ${y2}` : `M${wing(1)}L${ex} ${ey}L${wing(-1)}${open ? '' : 'Z'}`;
  return [
    svg('line', {class: 'shaft', x1, y1, x2: ex - short * ux, y2: ey - short * uy}),
    svg('path', {class: lost ? 'cross' : late ? 'dots' : open ? 'head open' : 'head', d: head}),
    svg('line', {class: 'hit', x1, y1, x2, y2}),
  ];
}

// labels chooses the arrows that have a label, and the position of the label on each. Of several
// arrows side by side, the middle one has it. An arrow that other labels cover completely has only
// its title.
function labels(g) {
  if (g.pitch < 30 || g.view.drawn.length > 160) return new Map();
  const told = g.view.drawn.filter(l => !l.lost && l.kind !== 'mcast');
  const found = new Map(), taken = [];
  for (const all of gather(told, l => `${l.arrive} ${l.kind} ${l.from} ${l.to} ${l.name[0]}`)) {
    const l = all[Math.floor(all.length / 2)], at = armOf(g, l);
    const text = all.some(l => l.names.length > 1) ? few([...new Set(all.map(l => l.name))], 2) : all[0].name[0] + spans(all.map(l => Number(l.name.slice(1))));
    const room = part => ({x: at.x1 + (at.x2 - at.x1) * part, y: at.y1 + (at.y2 - at.y1) * part, w: 7 * text.length + 4, h: 14});
    const part = [0.5, 0.3, 0.7, 0.4, 0.6, 0.2, 0.8].find(part => !taken.some(box => overlap(box, room(part))));
    if (part === undefined) continue;
    taken.push(room(part));
    found.set(l, {text, part});
  }
  return found;
}

// overlap reports whether two boxes, given by their centres x and y, overlap.
function overlap(a, b) { return 2 * Math.abs(a.x - b.x) < a.w + b.w && 2 * Math.abs(a.y - b.y) < a.h + b.h; }

// tag writes the label of an arrow at a position along it.
function tag(at, name, part) {
  return svg('text', {class: 'label', x: at.x1 + (at.x2 - at.x1) * part, y: at.y1 + (at.y2 - at.y1) * part + 4}, name);
}

// ghostNode draws a step of a counterexample that never happens.
function ghostNode(g, s) {
  const from = s.from < 0 ? s.rank : s.from;
  const at = ends(g, g.tracks.length - 1, s.key, from, s.rank);
  const shift = 14;
  const node = svg('g', {class: 'leg ghost path', 'data-step': s.index}, svg('title', {}, s.text));
  node.append(...strokes({...at, x1: at.x1 + shift, x2: at.x2 + shift}, s.from < 0 ? 'lost' : '', false), tag({...at, x1: at.x1 + shift, x2: at.x2 + shift}, s.slot, 0.74));
  return node;
}

// dots marks when slots are set: one dot for each rank and round.
function dots(g) {
  const by = new Map(), e = g.view.run;
  e.slots.forEach((round, slot) => {
    const rank = g.view.p.rankOf[slot], key = `${round} ${rank}`;
    if (round < 0 || !g.view.at.has(rank)) return;
    if (!by.has(key)) by.set(key, {round, rank, names: [], slots: [], folds: false});
    const d = by.get(key);
    d.names.push(g.view.p.names[slot]);
    d.slots.push(slot);
    d.folds = d.folds || foldOf(e, slot) !== undefined;
  });
  return [...by.values()].map(d => {
    const told = {'data-rank': d.rank, 'data-round': d.round, 'data-slots': d.names.join(' ')};
    const x = g.x[d.round], y = laneY(g, d.rank), title = svg('title', {}, tellDot(g.view, d));
    if (!d.folds) return svg('circle', {class: 'dot', cx: x, cy: y, r: Math.min(4, g.pitch / 5), ...told}, title);
    return svg('path', {class: 'dot fold', d: diamond(x, y, Math.min(7, g.pitch / 3)), ...told}, title);
  });
}

// diamond draws a fold on a lane.
function diamond(x, y, r) { return `M${x - r} ${y}l${r} ${r} ${r} ${-r} ${-r} ${-r}z`; }

// tellDot describes the slots that a rank gets in a round, and their folds.
function tellDot(view, d) {
  const told = d.slots.map((slot, i) => `${d.names[i]}${tellTerm(view, slot)}`);
  return `Rank ${d.rank}, round ${d.round}: ${few(told, 12)}`;
}
