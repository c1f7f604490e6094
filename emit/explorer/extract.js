// The ranks and rounds that a page shows if all would be too many to read.

// extract chooses the ranks, and the legs of the run to draw. With a hub, these are the legs from
// or to that rank; otherwise all legs between the ranks.
function extract(view, given, mode) {
  const all = {ranks: [], hub: -1, why: ''}, opening = () => given.ranks.length && view.steps.length ? stepsPart(view) : given;
  const part = {all: () => all, path: () => pathPart(view), part: () => rankPart(view), extract: opening}[mode]();
  const lanes = part.ranks.length ? part.ranks : [...Array(view.p.ranks).keys()];
  return {lanes, at: new Map(lanes.map((rank, lane) => [rank, lane])), hub: part.hub, why: part.why, whole: !part.ranks.length};
}

function pathPart(view) {
  const ranks = [...new Set([...view.critical].flatMap(slot => [view.p.rankOf[slot], view.p.rules[view.run.causes[slot]].rank]))];
  const ends = ranks.length > most.lanes ? [...ranks.slice(0, most.lanes / 2), ...ranks.slice(-most.lanes / 2)] : ranks;
  return {ranks: ascending(ends.length ? ends : [0]), hub: -1, why: 'the critical path, which the last return depends on'};
}

// rankPart returns a rank and its partners, some of every round.
function rankPart(view) {
  const {picked} = view, own = view.legs.filter(l => l.from === picked || l.to === picked);
  const groups = gather(own, l => `${l.arrive} ${l.from === picked}`).map(g => g.map(l => l.from === picked ? l.to : l.from));
  const peers = new Set(groups.flat()), ranks = new Set([picked]), longest = latestOf(groups.map(g => g.length));
  for (let i = 0; i < longest && ranks.size < most.lanes; i++) {
    for (const g of groups) if (i < g.length && ranks.size < most.lanes) ranks.add(g[i]);
  }
  const some = ranks.size <= peers.size ? `${ranks.size - 1} of the ${count(peers.size, 'rank')}` : 'the ranks';
  return {ranks: ascending(ranks), hub: picked, why: `rank ${picked} and ${some} that it sends to or receives from`};
}

// stepsPart returns the ranks of a counterexample.
function stepsPart(view) {
  const ranks = [...new Set(view.steps.flatMap(s => s.from < 0 ? [s.rank] : [s.rank, s.from]))].slice(0, most.lanes);
  return {ranks: ascending(ranks), hub: -1, why: 'the ranks of the counterexample'};
}

function ascending(numbers) { return [...numbers].sort((a, b) => a - b); }

// within reports whether both ends of a transfer have lanes.
function within(view, l) {
  return view.at.has(l.from) && view.at.has(l.to) && (view.hub < 0 || l.from === view.hub || l.to === view.hub);
}

// roundsOf lists the shown rounds. Of an extract, these are the rounds in which its ranks do
// something. If there are too many, these are the first and the last ones.
function roundsOf(view) {
  if (view.whole) return new Set([...Array(view.last).keys()].map(i => i + 1));
  const busy = ascending(new Set([...view.legs.filter(l => within(view, l)).map(l => l.arrive), ...view.lanes.map(r => view.returns[r]).filter(at => at > 0)]));
  return new Set(busy.length > most.rounds ? [...busy.slice(0, most.rounds / 2), ...busy.slice(-most.rounds / 2)] : busy);
}

// tellExtract says which ranks and rounds are shown and which are left out.
function tellExtract(view) {
  const {lanes, p, drawn, legs} = view, parts = [];
  if (!view.whole) {
    parts.push(`${grouped(lanes.length)} of ${count(p.ranks, 'rank')}: ${view.why}.`);
    if (view.rounds.size < view.last) parts.push(`${grouped(view.rounds.size)} of ${count(view.last, 'round')}.`);
  }
  if (drawn.length < legs.length) parts.push(`${grouped(drawn.length)} of ${count(legs.length, 'transfer')} are drawn${view.cut ? ': the others carry later chunks' : ''}.`);
  return parts.join(' ');
}
