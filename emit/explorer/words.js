// Descriptions of a run in words.

function count(n, thing) { return n === 1 ? `1 ${thing}` : `${grouped(n)} ${thing}s`; }

// grouped spells a number with its thousands separated.
function grouped(n) { return n.toLocaleString('en-US'); }

function list(parts, word = 'and') {
  if (parts.length < 2) return parts.join('');
  return `${parts.slice(0, -1).join(', ')} ${word} ${parts[parts.length - 1]}`;
}

// spans spells ascending numbers, with runs: "0–3 and 7".
function spans(numbers) {
  const runs = [];
  for (const n of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = runs[runs.length - 1];
    if (last && last[1] === n - 1) last[1] = n;
    else runs.push([n, n]);
  }
  const told = runs.map(([a, b]) => a === b ? `${a}` : `${a}–${b}`);
  return told.length > 9 ? few(told, 8) : list(told);
}

function ranksNamed(numbers) {
  return (new Set(numbers).size === 1 ? 'rank ' : 'ranks ') + spans(numbers);
}

const verbs = {mcast: 'multicasts', put: 'puts', signal: 'sends', repair: 'repairs by', request: 'asks by', answer: 'answers by'};

// tellRound lists the arrivals and losses of a round.
function tellRound(view, round) {
  if (round === 0) return view.p.ranks === 1 ? 'The only rank enters.' : `All ${count(view.p.ranks, 'rank')} enter.`;
  const now = view.legs.filter(l => l.arrive === round);
  const parts = Object.keys(verbs).map(kind => tellKind(now.filter(l => l.kind === kind && !l.lost && !l.late), kind)).filter(Boolean);
  const made = view.folds.filter(f => f.round === round);
  if (made.length) parts.push(few(made.map(f => `rank ${f.rank} folds ${f.name}${tellTerm(view, f.slot)}`)));
  const lost = now.filter(l => l.lost);
  if (lost.length) parts.push(`lost: ${few(lost.map(l => `${l.name} to ${l.to}`))}`);
  const late = now.filter(l => l.late);
  if (late.length) parts.push(`late: ${few(late.map(l => `${l.name} to ${l.to}`))}`);
  const back = view.returns.flatMap((at, rank) => at === round ? [rank] : []);
  if (back.length) parts.push(`${ranksNamed(back)} ${back.length === 1 ? 'returns' : 'return'}`);
  return `Round ${round}: ${parts.join('; ') || 'nothing'}.`;
}

// tellTerm spells the term of a slot behind its name, if it has one.
function tellTerm(view, slot, sign = ' =') {
  const term = termOf(view.run, slot), long = 160;
  return term && `${sign} ${term.length > long ? `${term.slice(0, long)}…` : term}`;
}

// tellEnd says when the calls return.
function tellEnd(view) {
  const back = view.returns.filter(at => at >= 0), never = view.returns.length - back.length;
  const parts = [];
  if (back.length) parts.push(`${never ? count(back.length, 'call') : view.p.ranks === 1 ? 'The call' : 'All calls'} ${back.length === 1 ? 'returns' : 'return'} by round ${latestOf(back)}`);
  if (never) parts.push(`${count(never, 'call')} never ${never === 1 ? 'returns' : 'return'}`);
  return `${parts.join('; ')}.`;
}

function tellKind(now, kind) {
  const by = new Map();
  for (const l of now) {
    const key = `${l.from} ${l.name}`;
    by.set(key, {...l, to: [...(by.has(key) ? by.get(key).to : []), l.to]});
  }
  return few([...by.values()].map(l => `rank ${l.from} ${verbs[kind]} ${l.name} to ${spans(l.to)}`));
}

function few(parts, most = 4) {
  return parts.length <= most ? parts.join(', ') : `${parts.slice(0, most).join(', ')} and ${parts.length - most} more`;
}

// tellSources says which ranks may set a slot.
function tellSources(view, slot) {
  const rules = view.p.rules, by = {mcast: [], put: [], repair: [], fold: []}, asks = view.p.names[slot][0] === 's';
  for (const w of view.p.writers[slot]) {
    by[w.op === 'mcast' || w.op === 'fold' ? w.op : rules[w.id].repair ? 'repair' : 'put'].push(rules[w.id].rank);
  }
  const parts = [];
  if (by.mcast.length) parts.push(`the multicast of ${ranksNamed(by.mcast)}`);
  if (by.fold.length) parts.push('its own fold');
  if (by.put.length) parts.push(`a put from ${ranksNamed(by.put)}`);
  if (by.repair.length) parts.push(`a ${asks ? 'request' : 'repair'} by ${ranksNamed(by.repair)}`);
  return list(parts, 'or') || 'nothing: no rank puts it';
}

// tellHow says how a slot was set.
function tellHow(view, slot) {
  const cause = view.run.causes[slot];
  if (cause < 0) return 'at the beginning';
  if (foldOf(view.run, slot)) return `fold, round ${view.run.slots[slot]}${tellTerm(view, slot, ':')}`;
  const l = view.legs.find(x => x.id === cause && x.slots.includes(slot) && x.first);
  const how = {mcast: 'multicast', put: 'put', signal: 'signal', repair: 'repair', request: 'request', answer: 'answer'}[l.kind];
  return `${how} from rank ${l.from}, round ${l.arrive}${tellTerm(view, slot, ':')}`;
}

// tellRule describes the state of a rule in the given round.
function tellRule(view, id, round) {
  const rule = view.p.rules[id], e = view.run, at = e.rules[id];
  if (at >= 0 && at <= round) return {state: 'fired', text: tellFired(rule, at)};
  if (rule.repair && e.slots[rule.unless] >= 0 && e.slots[rule.unless] <= round) {
    return {state: 'off', text: `called off by ${view.p.names[rule.unless]}`};
  }
  const lacks = rule.when.filter(s => e.slots[s] < 0 || e.slots[s] > round).map(s => view.p.names[s]);
  if (lacks.length) return {state: 'waits', text: `waits for ${few(lacks, 6)}`};
  return {state: 'ready', text: rule.after ? 'its time-out is running' : 'about to fire'};
}

// tellFired says when a rule fired. Rounds have no timeouts: repairs are made when nothing else
// moves.
function tellFired(rule, at) {
  const when = at === 0 ? 'at the start' : `after round ${at}`;
  if (!rule.repair) return `fired ${when}`;
  return `fired ${when}, ${rule.after ? `after ${count(rule.after, 'time-out')}, ` : ''}when nothing else moved`;
}

// tellRank says in a sentence what a rank does in a round.
function tellRank(view, rank, round) {
  const at = view.returns[rank];
  if (at >= 0 && at <= round) {
    const open = view.p.rules.some((r, id) => r.rank === rank && !r.repair && view.run.rules[id] > round);
    return `The call of rank ${rank} has returned after round ${at}${open ? '; the rank will answer requests' : ''}.`;
  }
  if (view.run.slots[view.p.base[rank]] < 0) return `Rank ${rank} stays away in this run: it does not enter.`;
  const waits = pending(view, rank, round).map(s => view.p.names[s]);
  const end = at < 0 ? 'Its call never returns in this run.' : `Its call returns after round ${at}.`;
  return `Rank ${rank} ${waits.length ? `waits for ${few(waits, 6)}` : 'must still send'}. ${end}`;
}

function pending(view, rank, round) {
  return view.p.done[rank].filter(s => view.run.slots[s] < 0 || view.run.slots[s] > round);
}

// tellLoss says what makes up for a lost leg.
function tellLoss(view, l) {
  const at = view.run.slots[l.slots[0]];
  const head = `The multicast of ${l.name} from rank ${l.from} to rank ${l.to} is lost`;
  return at < 0 ? `${head}. ${l.name} never arrives.` : `${head}. ${l.name} arrives by ${tellHow(view, l.slots[0])}.`;
}

// tellStep describes one step of a counterexample.
function tellStep(view, step) {
  const at = view.run.slots[step.id], what = `${step.slot} of rank ${step.rank}`;
  if (at >= 0 && step.from >= 0) return `round ${at}: rank ${step.from} sets ${what}`;
  if (at >= 0) return `${what} is set`;
  return step.from >= 0 ? `${what} waits for rank ${step.from}` : `no rank sets ${what}`;
}

// tellTotals sums up a run in one line.
function tellTotals(view) {
  const of = kind => view.legs.filter(l => l.kind === kind);
  const multicasts = new Set(of('mcast').map(l => `${l.from}:${l.name}`)).size;
  const parts = [count(latestOf(view.returns), 'round'), count(multicasts, 'multicast'), count(of('put').length, 'put'), count(view.folds.length, 'fold'),
    count(of('signal').length, 'signal'), count(of('repair').length, 'repair'), count(of('request').length, 'request'), count(of('answer').length, 'answer')];
  const lost = view.legs.filter(l => l.lost).length, late = view.legs.filter(l => l.late).length;
  return parts.filter(text => !text.startsWith('0 ') || text === '0 rounds').join(' · ') + (lost ? ` · ${lost} lost` : '') + (late ? ` · ${late} late` : '');
}
