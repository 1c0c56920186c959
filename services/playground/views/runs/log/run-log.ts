import type { JsonObject, RunEvent } from '@agent-workflow/client';

/** Why a node began: as the step does, again after its failure, or again because its worker was lost. */
type Cause = 'start' | 'failure' | 'takeover';

interface Attempt {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly cause: Cause;
  /** The branch that began again, where the node runs in several. */
  readonly branch?: number;
}

export type VisitState = 'running' | 'completed' | 'sleeping' | 'slept' | 'interrupted' | 'failed' | 'stopped';

/** One node in one step. */
interface Visit {
  /** Counted from 0. */
  readonly step: number;
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Absent until it has ended. */
  endedAt?: number;
  state: VisitState;
  /** When it continues, while it sleeps. */
  wakeAt?: number;
  /** The first is its beginning. */
  readonly attempts: Attempt[];
  /** Whole messages that it has added. */
  messages: number;
}

/** An event as the page lists it. */
export interface ListedEvent {
  readonly event: RunEvent;
  /** Its number in the run. */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Whether it happened while the page followed the run. */
  readonly isLive: boolean;
}

/** What is known of a run by its events. It grows in place; `generation` counts how often it began anew. */
export interface RunLog {
  readonly maxListed: number;
  events: ListedEvent[];
  visits: Visit[];
  /** How often each node has begun. */
  counts: Map<string, number>;
  /** The nodes that run or sleep now, each with its visit. */
  open: Map<string, Visit>;
  /** Events that came before the page did. */
  replayed: number;
  /** Events that are not listed because the list is full. */
  unlisted: number;
  /** Whether the events were made again from the record. */
  isRebuilt: boolean;
  /** The run's last event. */
  last?: RunEvent;
  generation: number;
}

interface RunLogOptions {
  /** Beyond so many events the text of messages is no longer listed, but everything else is: 100,000. */
  readonly maxListed?: number;
  readonly generation?: number;
}

export const createRunLog = ({ maxListed = 100_000, generation = 0 }: RunLogOptions = {}): RunLog => ({
  maxListed,
  events: [],
  visits: [],
  counts: new Map(),
  open: new Map(),
  replayed: 0,
  unlisted: 0,
  isRebuilt: false,
  generation,
});

/**
 * Adds an event after those that are there, in constant time. An event of the kind `metadata` is always the first of a log: when
 * others are there, they are void.
 */
export function addEvent(log: RunLog, event: RunEvent, { isLive }: { readonly isLive: boolean }): void {
  if (event.event === 'metadata') beginAnew(log, event);
  const at = Date.parse(event.timestamp);
  if (!isLive) log.replayed++;
  if (log.events.length >= log.maxListed && isPartOfMessage(event)) log.unlisted++;
  else log.events.push({ event, seq: seqOf(event), at, isLive });
  if (event.event === 'on_chain_stream') addStatus(log, event, at);
  else if (event.event === 'messages_chunk') addMessage(log, event);
  else if (isLast(event)) endAll(log, event, at);
}

/** The last event of a run is of one of these kinds. */
export const isLast = ({ event }: RunEvent): boolean => event === 'on_chain_end' || event === 'error';

/** A chunk of a message that is not its end. */
const isPartOfMessage = ({ event, message }: RunEvent): boolean => event === 'messages_chunk' && message === undefined;

/** The number of an event: its id is `{run_id}:{seq}`. */
const seqOf = ({ id }: RunEvent): number => Number(id.slice(id.lastIndexOf(':') + 1));

function beginAnew(log: RunLog, { data }: RunEvent): void {
  if (log.events.length > 0) {
    delete log.last;
    Object.assign(log, createRunLog({ maxListed: log.maxListed, generation: log.generation + 1 }));
  }
  log.isRebuilt = isObject(data) && data['rebuilt'] === true;
}

function addStatus(log: RunLog, { data }: RunEvent, at: number): void {
  if (!isObject(data)) return;
  const { node, step, status } = data;
  if (typeof node !== 'string' || typeof step !== 'number') return;
  const key = { step, node };
  if (status === 'started') begin(log, key, { at, cause: 'start' });
  else if (status === 'restarted') begin(log, key, toRestart(data, at));
  else if (status === 'completed') end(log, visitOf(log, key, at), 'completed', at);
  else if (status === 'sleeping') sleep(log, visitOf(log, key, at), data['wake_at']);
}

function toRestart({ takeover, branch }: JsonObject, at: number): Attempt {
  const cause = takeover === true ? 'takeover' : 'failure';
  return { at, cause, ...(typeof branch === 'number' && { branch }) };
}

type Key = Pick<Visit, 'step' | 'node'>;

/** The visit of a node in a step. It is its last one, as a step begins after the one before has ended. */
function known(log: RunLog, { step, node }: Key): Visit | undefined {
  for (let index = log.visits.length - 1; index >= 0; index--) {
    const visit = log.visits[index];
    if (visit === undefined || visit.step < step) return undefined;
    if (visit.step === step && visit.node === node) return visit;
  }
  return undefined;
}

function begin(log: RunLog, key: Key, attempt: Attempt): void {
  const before = log.open.get(key.node);
  if (before !== undefined && before.step !== key.step)
    end(log, before, before.state === 'sleeping' ? 'slept' : 'stopped', attempt.at);
  const visit = known(log, key);
  if (visit === undefined) add(log, key, attempt);
  else {
    visit.attempts.push(attempt);
    visit.state = 'running';
    delete visit.endedAt;
    delete visit.wakeAt;
    log.open.set(key.node, visit);
  }
}

function add(log: RunLog, key: Key, attempt: Attempt): Visit {
  const visit: Visit = { ...key, startedAt: attempt.at, state: 'running', attempts: [attempt], messages: 0 };
  log.visits.push(visit);
  log.open.set(key.node, visit);
  log.counts.set(key.node, (log.counts.get(key.node) ?? 0) + 1);
  return visit;
}

const visitOf = (log: RunLog, key: Key, at: number): Visit => known(log, key) ?? add(log, key, { at, cause: 'start' });

function end(log: RunLog, visit: Visit, state: VisitState, at: number): void {
  visit.state = state;
  // The clocks of two workers may differ.
  visit.endedAt = Math.max(visit.startedAt, at);
  delete visit.wakeAt;
  if (log.open.get(visit.node) === visit) log.open.delete(visit.node);
}

function sleep(log: RunLog, visit: Visit, wakeAt: unknown): void {
  visit.state = 'sleeping';
  delete visit.endedAt;
  if (typeof wakeAt === 'string') visit.wakeAt = Date.parse(wakeAt);
  log.open.set(visit.node, visit);
}

function addMessage(log: RunLog, { message, metadata }: RunEvent): void {
  const { step, node } = metadata;
  if (message === undefined || typeof step !== 'number' || typeof node !== 'string') return;
  const visit = known(log, { step, node });
  if (visit) visit.messages++;
}

/** Ends what is under way as the run has ended. */
function endAll(log: RunLog, event: RunEvent, at: number): void {
  log.last = event;
  const data = isObject(event.data) ? event.data : {};
  if (event.event === 'error') {
    const failed = typeof data['node'] === 'string' ? log.open.get(data['node']) : undefined;
    if (failed) end(log, failed, 'failed', at);
  }
  for (const node of askingNodes(data)) {
    const visit = log.visits.findLast((each) => each.node === node);
    if (visit) visit.state = 'interrupted';
  }
  for (const visit of [...log.open.values()])
    end(log, visit, statusOf(event) === 'interrupted' ? 'interrupted' : 'stopped', at);
}

/** The nodes whose questions wait for an answer. */
function askingNodes({ meta }: JsonObject): readonly unknown[] {
  const interrupts = isObject(meta) ? meta['interrupts'] : undefined;
  return Array.isArray(interrupts)
    ? interrupts.map((each: unknown) => (isObject(each) ? each['node'] : undefined))
    : [];
}

/** How the run has ended, by its last event. */
export function statusOf({ event, data }: RunEvent): string {
  if (event === 'error') return 'failed';
  const meta = isObject(data) ? data['meta'] : undefined;
  const status = isObject(meta) ? meta['status'] : undefined;
  return typeof status === 'string' ? status : 'completed';
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
