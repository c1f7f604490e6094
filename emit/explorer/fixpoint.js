// The least fixpoint of a schedule: the slots that become set, their rounds, and the rules that
// fire. Package internal/ir/fixpoint computes the same, and tests compare the two.

// number numbers the slots and the rules of all ranks. Each rank has enter, the chunks that it
// uses, its signals and its partial results, in this order. row says which chunks a rank holds and
// wants.
function number(schedule, row) {
  const p = {schedule, row, ranks: schedule.ranks, chunks: schedule.chunks, base: [], at: [], names: [], rankOf: [], rules: []};
  const known = chunksKnown(p);
  for (const program of byRank(schedule.programs)) {
    const names = ['enter', ...ascending(known[program.rank]).map(k => 'c' + k)], at = new Map();
    for (let j = 0; j < program.signals; j++) names.push('s' + j);
    for (let j = 0; j < (program.values || 0); j++) names.push('v' + j);
    p.base.push(p.names.length);
    for (const name of names) at.set(name, p.names.length), p.names.push(name), p.rankOf.push(program.rank);
    p.at.push(at);
  }
  for (const program of byRank(schedule.programs)) {
    program.rules.forEach((rule, i) => p.rules.push(numbered(p, program.rank, rule, i)));
  }
  p.done = byRank(schedule.programs).map(g => g.done.map(name => slotOf(p, g.rank, name)));
  p.folds = p.rules.some(rule => rule.acts.some(act => act.op === 'fold'));
  link(p);
  return p;
}

function byRank(programs) { return [...programs].sort((a, b) => a.rank - b.rank); }

// chunksKnown returns for each rank the chunks that it holds, wants, gets or waits for.
function chunksKnown(p) {
  const known = p.row.held.map((held, rank) => new Set([...chunksOf(p, held), ...chunksOf(p, p.row.wanted[rank])]));
  const add = (rank, name) => { if (name && name[0] === 'c') known[rank].add(Number(name.slice(1))); };
  for (const program of p.schedule.programs) {
    for (const name of program.done) add(program.rank, name);
    for (const rule of program.rules) {
      for (const name of [...rule.when, rule.unless]) add(program.rank, name);
      for (const act of rule.do.map(actOf)) {
        for (const to of receivers(p, program, act)) for (const name of act.sets) add(to, name);
      }
    }
  }
  return known;
}

// chunksOf lists the chunks of blocks, given as in row.held and row.wanted of a rank.
function chunksOf(p, {first, step, count}) {
  const out = [];
  for (let i = 0; i < count; i++) for (let f = 0; f < p.row.per; f++) out.push((first + i * step) * p.row.per + f);
  return out;
}

// slotOf returns the number of a slot, or -1 if its rank does not use it.
function slotOf(p, rank, name) { return p.at[rank].get(name) ?? -1; }

// actOf returns an action of a rule: the slots that it uses at its rank, and the slots that it sets
// at the destination. A put may have several slots, which may have other names at the destination.
// A fold has operands.
function actOf(a) {
  const names = a.op === 'fold' ? a.of : a.slots || [a.slot];
  return {op: a.op, names, sets: a.op === 'fold' ? [a.slot] : a.as || names, to: a.to};
}

// namesTogether spells the slots of one message: c0 c1 c2, or only the first and the last of more.
function namesTogether(names) {
  if (names.length <= 3) return names.join(' ');
  const ends = `${names[0]}…${names[names.length - 1]}`, first = Number(names[0].slice(1));
  return names.every((name, i) => Number(name.slice(1)) === first + i) ? ends : `${ends} (${names.length})`;
}

function numbered(p, rank, rule, index) {
  return {
    rank, index, text: spellRule(rule), repair: rule.unless !== undefined, after: rule.after || 0,
    when: rule.when.map(name => slotOf(p, rank, name)),
    unless: rule.unless === undefined ? -1 : slotOf(p, rank, rule.unless),
    acts: rule.do.map(actOf),
  };
}

function spellRule(rule) {
  const unless = rule.unless === undefined ? '' : ` unless ${rule.unless} after ${rule.after}`;
  const acts = rule.do.map(actOf).map(spellAct);
  return `${rule.when.join(' ')}${unless} → ${acts.join(', ')}`;
}

function spellAct(act) {
  const names = namesTogether(act.names);
  if (act.op === 'fold') return `fold ${act.sets[0]} = ${names}`;
  if (act.op === 'mcast') return `mcast ${names}`;
  return `put ${names} @${act.to}${act.sets === act.names ? '' : ` as ${namesTogether(act.sets)}`}`;
}

// link lists, for every slot, the rules that wait for it and the rules that set it.
function link(p) {
  p.waiters = p.names.map(() => []);
  p.writers = p.names.map(() => []);
  p.rules.forEach((rule, id) => {
    for (const slot of rule.when) p.waiters[slot].push(id);
    for (const act of rule.acts) {
      for (const to of receivers(p, rule, act)) for (const name of act.sets) p.writers[slotOf(p, to, name)].push({id, op: act.op});
    }
  });
}

function receivers(p, rule, act) {
  if (act.op === 'put') return [act.to];
  if (act.op === 'fold') return [rule.rank];
  return [...Array(p.ranks).keys()].filter(r => r !== rule.rank);
}

function legKey(from, to, name) { return `${from}:${to}:${name}`; }

// A world describes the faults of a run. lost(from, to, chunk) reports whether a multicast is lost.
// Repairs happen as needed or, with every, as soon as they can. The slots in the set without stay
// unset.
function solve(p, world) {
  const e = {
    p, world, slots: p.names.map(() => -1), causes: p.names.map(() => -1), rules: p.rules.map(() => -1),
    missing: p.rules.map(r => r.when.length), queue: [], local: [], woken: new Set(), fired: [], ready: [], terms: new Map(),
  };
  for (let r = 0; r < p.ranks; r++) setSlot(e, p.base[r], -1, 0);
  for (let r = 0; r < p.ranks; r++) {
    if (e.slots[p.base[r]] === 0) for (const k of chunksOf(p, p.row.held[r])) setSlot(e, slotOf(p, r, 'c' + k), -1, 0);
  }
  let head = 0;
  do {
    for (; head < e.queue.length; head++) {
      if (!e.woken.has(e.queue[head])) wake(e, e.queue[head]);
      for (let slot; (slot = e.local.shift()) !== undefined;) e.woken.add(slot), wake(e, slot);
    }
  } while (repairs(e));
  e.asked = onRequest(e);
  return e;
}

function setSlot(e, slot, cause, round) {
  if (e.slots[slot] >= 0 || e.world.without.has(slot)) return;
  e.slots[slot] = round;
  e.causes[slot] = cause;
  e.queue.push(slot);
}

function wake(e, slot) {
  for (const id of e.p.waiters[slot]) {
    if (--e.missing[id] > 0) continue;
    if (!e.p.rules[id].repair || e.world.every) fire(e, id, e.slots[slot]);
    else e.ready.push(id);
  }
}

function fire(e, id, round) {
  const rule = e.p.rules[id];
  e.rules[id] = round;
  e.fired.push(id);
  for (const act of rule.acts) {
    if (act.op === 'fold') { // in the same round: rules that wait for the result come before others
      const slot = slotOf(e.p, rule.rank, act.sets[0]), before = e.queue.length;
      setSlot(e, slot, id, round);
      if (e.queue.length > before) e.local.push(slot);
      continue;
    }
    for (const to of receivers(e.p, rule, act)) {
      if (act.op === 'mcast' && e.world.lost(rule.rank, to, act.names[0])) continue;
      for (const name of act.sets) setSlot(e, slotOf(e.p, to, name), id, round + 1);
    }
  }
}

// repairs fires the repairs whose unless is not set, when all else has come to rest.
function repairs(e) {
  const needed = e.ready.filter(id => e.slots[e.p.rules[id].unless] < 0);
  const last = latestOf(e.queue.map(slot => e.slots[slot]));
  e.ready = [];
  for (const id of needed) fire(e, id, last);
  return needed.length > 0;
}

// legs lists every message of a run, and a multicast once for each receiver. A leg is a first copy
// if it brings a slot that its rule has not sent before. A leg whose slots stay unset is lost if it
// is of a multicast. Other messages arrive at last, and are late in such a run.
function legs(e) {
  const out = [], had = new Set();
  for (const id of e.fired) {
    const rule = e.p.rules[id];
    for (const act of rule.acts.filter(a => a.op !== 'fold')) {
      for (const to of receivers(e.p, rule, act)) out.push(leg(e, id, rule, act, to));
    }
  }
  for (const l of out.filter(x => x.first)) {
    const brought = l.slots.filter(slot => e.causes[slot] === l.id && !had.has(slot));
    l.first = brought.length > 0;
    for (const slot of brought) had.add(slot);
  }
  return out;
}

function leg(e, id, rule, act, to) {
  const slots = act.sets.map(name => slotOf(e.p, to, name)), arrive = e.rules[id] + 1, name = namesTogether(act.names);
  const lost = act.op === 'mcast' && e.world.lost(rule.rank, to, name), held = slots.every(slot => e.world.without.has(slot));
  return {
    id, slots, names: act.names, name, from: rule.rank, to, arrive, kind: kindOf(rule, act, e.asked[id]),
    lost: lost || held && act.op === 'mcast', late: held && act.op === 'put', first: slots.some(slot => e.causes[slot] === id) && !lost, key: legKey(rule.rank, to, name),
  };
}

function kindOf(rule, act, asked) {
  if (act.op === 'mcast') return 'mcast';
  const signal = act.names[0][0] === 's';
  if (rule.repair) return signal ? 'request' : 'repair';
  if (asked) return 'answer';
  return signal ? 'signal' : 'put';
}

// onRequest reports, for each rule, whether it fired as a repair or because of one: it waits for a
// signal that such a rule sent.
function onRequest(e) {
  const out = e.p.rules.map(() => false), asked = s => e.p.names[s][0] === 's' && out[e.causes[s]];
  for (const id of e.fired) out[id] = e.p.rules[id].repair || e.p.rules[id].when.some(asked);
  return out;
}

// returns lists the round after which each call returns. Then the done slots are set, and the rank
// has handed over all messages except repairs and answers to requests. -1 means never, as for a
// rank that does not enter.
function returns(e) {
  const out = e.p.done.map((done, rank) => {
    const rounds = [e.p.base[rank], ...done].map(slot => e.slots[slot]);
    return rounds.includes(-1) ? -1 : Math.max(...rounds);
  });
  for (const id of e.fired) {
    const {rank, acts} = e.p.rules[id];
    const sends = acts.some(act => act.op !== 'fold') ? 1 : 0;
    if (out[rank] >= 0 && acts.length && !e.asked[id]) out[rank] = Math.max(out[rank], e.rules[id] + sends);
  }
  return out;
}

// foldOf returns the fold that set a slot, or undefined if no fold did.
function foldOf(e, slot) {
  const rule = e.p.rules[e.causes[slot]];
  return rule && rule.acts.find(act => act.op === 'fold' && slotOf(e.p, rule.rank, act.sets[0]) === slot);
}

// termOf spells the term of a slot, with ranks in place of their contributions: ((01)(23)). It is
// empty if the slot is not folded.
function termOf(e, slot) {
  if (!e.p.folds) return '';
  if (!e.terms.has(slot)) {
    e.terms.set(slot, ''); // stops at a slot that ranks send each other in a circle
    e.terms.set(slot, computeTerm(e, slot));
  }
  return e.terms.get(slot);
}

function computeTerm(e, slot) {
  const rule = e.p.rules[e.causes[slot]], name = slot < 0 ? '' : e.p.names[slot];
  if (!rule) return '';
  for (const act of rule.acts) {
    const i = act.sets.indexOf(name);
    if (i < 0 || !receivers(e.p, rule, act).includes(e.p.rankOf[slot])) continue;
    const of = act.op === 'fold' ? act.names : [act.names[i]];
    return of.map(x => x[0] === 'x' ? String(rule.rank) : termOf(e, slotOf(e.p, rule.rank, x))).reduce(folded);
  }
  return '';
}

// folded spells the fold of two terms. Spaces separate numbers of several digits.
function folded(left, right) {
  const apart = /\d$/.test(left) && /^\d/.test(right) && left.length + right.length > 2 ? ' ' : '';
  return `(${left || '?'}${apart}${right || '?'})`;
}

// latestOf returns the last of some rounds, or 0 if there are none.
function latestOf(rounds) { return rounds.reduce((last, at) => Math.max(last, at), 0); }

// critical returns the slots on the way from the last return back to the beginning.
function critical(e) {
  const way = new Set();
  let slot = latest(e, lastWaits(e));
  while (slot >= 0 && e.slots[slot] > 0 && e.causes[slot] >= 0) {
    way.add(slot);
    slot = latest(e, e.p.rules[e.causes[slot]].when);
  }
  return way;
}

// lastWaits lists the slots for which the last return waits. These are the done slots or, if the
// call waits only for its own sends, the slots of the rule that sends last.
function lastWaits(e) {
  const back = returns(e), last = latestOf(back), done = e.p.done.flat();
  if (done.some(s => e.slots[s] === last)) return done;
  const sent = e.fired.find(id => !e.asked[id] && e.rules[id] + 1 === back[e.p.rules[id].rank] && e.rules[id] + 1 === last);
  return sent === undefined ? done : e.p.rules[sent].when;
}

function latest(e, slots) {
  return slots.reduce((best, s) => best < 0 || e.slots[s] > e.slots[best] ? s : best, -1);
}
