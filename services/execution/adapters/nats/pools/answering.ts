import { defaultAgent, isAgentName, isRevision } from '@agent-workflow/kit/agents';
import { createFirstOfKind } from '@agent-workflow/kit/first-of-kind';
import type { Log } from '@agent-workflow/kit/log';
import { LRUCache } from 'lru-cache';
import { headers as createHeaders, type Msg } from 'nats';
import type { OnRecord, RunnableRun, RunQueue } from '../../../ports/queue.ts';
import { hashOfAgent, lanesOfPool, type Pool } from '../client/pools.ts';
import { isStreamAway, type Streams } from '../client/streams.ts';
import { isRunId } from '../client/subject-text.ts';
import { toPayload, type StoredFrame } from '../log/frame.ts';
import { eventSubjectOf } from '../log/places.ts';
import { createReader, pageBytes, type LogEnd, type Reader } from '../log/reader.ts';
import { createNoteUnreadable } from '../log/unreadable.ts';
import { readRun } from '../queue/run-message.ts';
import {
  inboxRoot,
  lastSequenceHeader,
  outcomeHeader,
  questions,
  type LogQuestion,
  type Outcome,
  type Question,
} from './questions.ts';

/** What a process knows that answers workers of pools. */
export interface PoolAnswers {
  /** What the record says of a run that a worker of a pool enqueues. */
  readonly onRecord: (run: RunnableRun) => Promise<OnRecord>;
}

interface AnsweringOptions extends PoolAnswers {
  readonly streams: Streams;
  readonly queue: Pick<RunQueue, 'enqueue'>;
  readonly log: Log;
}

/** Questions of one kind that are refused are logged once in so long, and so many kinds are remembered. */
const refusals = { silentMs: 600_000, max: 1000 };

/** Questions that are answered at once, of all agents and of one. Those beyond are to be asked again. */
const atOnce = { all: 64, agent: 16 };
/** Revisions of one agent whose consumers are created within an hour. */
const maxRevisions = 64;
const agentsRemembered = 10_000;
const hourMs = 3_600_000;

type Answer = (agentHash: string, message: Msg) => Promise<Outcome>;

/** Answers the questions of workers that belong to pools. Each question goes to one of the replicas that answer. */
export function answerPools({ streams, queue, log, onRecord }: AnsweringOptions): AsyncDisposable {
  const { client, names } = streams;
  const reader = createReader(client, names, createNoteUnreadable(log));
  const mayCreate = createRevisionBound();
  const isFirst = createFirstOfKind(refusals);
  let underWay = 0;
  const underWayOf = new Map<string, number>();

  const answers: Readonly<Record<Question, Answer>> = {
    lanes: async (agentHash, message) => {
      const pool = readPool(message);
      if (!pool || hashOfAgent(pool.agent) !== agentHash || !mayCreate(pool)) return 'refused';
      await streams.ensureRuns();
      await streams.ensureLanes(lanesOfPool(names, pool));
      return 'done';
    },

    put: async (agentHash, message) => {
      const run = readRun(message);
      if (!run || hashOfAgent(run.agent ?? defaultAgent) !== agentHash) return 'refused';
      const found = await onRecord(run);
      if (found === 'open') await queue.enqueue(run);
      return found === 'unknown' ? 'refused' : 'done';
    },

    log: async (agentHash, message) => {
      const question = readLogQuestion(message);
      if (!question) return 'refused';
      const subject = eventSubjectOf(names, agentHash, question.runId);
      const found = await readLog(reader, subject, question).catch(async (error: unknown) => {
        if (isStreamAway(error)) await streams.ensureEvents();
        throw error;
      });
      for (const each of found) respondWith(message, each);
      return found.length === 0 || question.read === 'page' ? 'none' : 'done';
    },
  };

  const answer = async (message: Msg): Promise<void> => {
    const [agentHash = '', word = ''] = message.subject.slice(names.helpSubject.length + 1).split('.');
    const question = questions.find((each) => each === word);
    const ofAgent = underWayOf.get(agentHash) ?? 0;
    if (!question || underWay >= atOnce.all || ofAgent >= atOnce.agent) {
      respond(message, question ? 'failed' : 'refused');
      return;
    }
    underWay++;
    underWayOf.set(agentHash, ofAgent + 1);
    try {
      const outcome = await answers[question](agentHash, message);
      if (outcome === 'refused' && isFirst(`${agentHash} ${question}`))
        log.warn(
          { agentHash, question },
          'a question of a worker of a pool was refused; others of its kind are not logged for ten minutes',
        );
      // A frame that was found is the answer itself.
      if (question !== 'log' || outcome !== 'done') respond(message, outcome);
    } catch (error) {
      log.warn({ err: error, question }, 'what a worker of a pool asked for could not be done; it asks again');
      respond(message, 'failed');
    } finally {
      underWay--;
      const left = (underWayOf.get(agentHash) ?? 0) - 1;
      if (left > 0) underWayOf.set(agentHash, left);
      else underWayOf.delete(agentHash);
    }
  };

  const subscription = client.connection.subscribe(`${names.helpSubject}.*.*`, {
    queue: 'api',
    callback: (error, message) => {
      // An answer to another subject would be published with the rights of this process.
      if (!error && isReplySubject(message.reply)) void answer(message);
    },
  });
  return {
    [Symbol.asyncDispose]: async () => {
      if (!subscription.isClosed()) await subscription.drain();
    },
  };
}

/** A reply to a request from another account has a subject that the server has made. */
const isReplySubject = (subject = ''): boolean => subject.startsWith(inboxRoot) || subject.startsWith('_R_.');

/** Each consumer costs the servers memory: a pool cannot have any number of them created. */
function createRevisionBound(): (pool: Pool) => boolean {
  const known = new LRUCache<string, LRUCache<string, true>>({ max: agentsRemembered });
  return ({ agent, revision }) => {
    if (revision === undefined) return true;
    const revisions = known.get(agent) ?? new LRUCache<string, true>({ max: maxRevisions, ttl: hourMs });
    known.set(agent, revisions);
    revisions.purgeStale();
    if (revisions.has(revision)) return true;
    if (revisions.size >= maxRevisions) return false;
    revisions.set(revision, true);
    return true;
  };
}

function respond(message: Msg, outcome: Outcome): void {
  const headers = createHeaders();
  headers.set(outcomeHeader, outcome);
  message.respond(nothing, { headers });
}

/** The frame with the headers that the server gives it where it is read directly, and where the log ends. */
function respondWith(message: Msg, { frame, lastSeq }: LogEnd): void {
  const headers = createHeaders();
  headers.set(outcomeHeader, 'done');
  headers.set(lastSequenceHeader, String(lastSeq));
  if (frame) {
    headers.set('Nats-Subject', frame.subject);
    headers.set('Nats-Sequence', String(frame.streamSeq));
    headers.set('Nats-Time-Stamp', new Date(frame.at).toISOString());
  }
  message.respond(frame ? toPayload(frame) : nothing, { headers });
}

const nothing = new Uint8Array(0);

async function readLog(reader: Reader, subject: string, question: LogQuestion): Promise<readonly LogEnd[]> {
  if (question.read === 'last') {
    const end = await reader.last(subject);
    return end ? [end] : [];
  }
  const { read, from } = question;
  const next = async (): Promise<readonly StoredFrame[]> => {
    const frame = await reader.next(subject, from);
    return frame ? [frame] : [];
  };
  const frames =
    read === 'next' ? await next() : await reader.page(subject, from, Math.min(question.maxBytes, pageBytes));
  // Where the search ends before a frame, the answer is none.
  return (frames ?? []).map((frame) => ({ frame, lastSeq: frame.streamSeq }));
}

type Fields = Readonly<Record<string, unknown>>;

function readFields(message: Msg): Fields {
  try {
    const value = message.json<unknown>();
    return typeof value === 'object' && value !== null ? (value as Fields) : {};
  } catch {
    return {};
  }
}

function readPool(message: Msg): Pool | undefined {
  const { agent, revision } = readFields(message);
  if (typeof agent !== 'string' || !isAgentName(agent)) return undefined;
  if (revision === undefined) return { agent };
  return typeof revision === 'string' && isRevision(revision) ? { agent, revision } : undefined;
}

function readLogQuestion(message: Msg): LogQuestion | undefined {
  const { runId, read, from, maxBytes } = readFields(message);
  if (!isRunId(runId)) return undefined;
  if (read === 'last') return { runId, read };
  if (!isCount(from)) return undefined;
  if (read === 'next') return { runId, read, from };
  return read === 'page' && isCount(maxBytes) ? { runId, read, from, maxBytes } : undefined;
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
