import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { defaultAgent } from '@agent-workflow/kit/agents';
import type { Msg, MsgHdrs } from 'nats';
import type { RunnableRun } from '../../../ports/queue.ts';
import { fromNatsError, isNoResponder, type NatsClient } from '../client/client.ts';
import { hashOfAgent, type Pool } from '../client/pools.ts';
import type { StreamNames } from '../client/names.ts';
import { toStored, type LogEnd, type Reader } from '../log/reader.ts';
import { toRunHeaders } from '../queue/headers.ts';
import { toRunPayload } from '../queue/run-message.ts';
import {
  lastSequenceHeader,
  outcomeHeader,
  questionSubject,
  type LogQuestion,
  type Outcome,
  type Question,
} from './questions.ts';

/** What replicas of the role `api` do for a worker of a pool. */
interface Asking {
  /** Creates the consumers of all pools. @throws Unavailable when nobody answers for one, and says what the cause may be. */
  readonly ensureLanes: (pools: readonly Pool[]) => Promise<void>;
  /** Reads the logs of the pool's agents. */
  readonly reader: Reader;
  /** Enqueues a run of one of the pool's agents. @throws Unavailable when nobody answers. */
  readonly put: (run: RunnableRun) => Promise<void>;
}

/** Longer than the process that answers may take itself, in milliseconds. */
const answerMs = 12_000;

export function createAsking(client: NatsClient, { helpSubject, eventSubject }: StreamNames): Asking {
  const request = async (question: Question, agentHash: string, asked: Asked): Promise<Msg> => {
    const { body, headers } = asked;
    const subject = questionSubject(helpSubject, agentHash, question);
    try {
      const reply = await client.request(subject, body, { timeoutMs: answerMs, ...(headers ? { headers } : {}) });
      const outcome = outcomeOf(reply);
      if (outcome === 'done' || outcome === 'none') return reply;
      throw unavailable(
        `a process of the role api ${outcome === 'refused' ? 'refused' : 'could not do'} what was asked`,
      );
    } catch (error) {
      if (isServiceError(error, 'Unavailable')) throw error;
      throw fromNatsError(error);
    }
  };

  /** The agent's hash and the run of a subject of events. */
  const partsOf = (subject: string): readonly [agentHash: string, runId: string] => {
    const [agentHash = '', runId = ''] = subject.slice(eventSubject.length + 1).split('.');
    return [agentHash, runId];
  };

  /** What was found of a log; `undefined` when it is nothing. */
  const readOne = async (subject: string, read: LogRead): Promise<Msg | undefined> => {
    const [agentHash, runId] = partsOf(subject);
    const reply = await request('log', agentHash, { body: toJson({ runId, ...read }) });
    return outcomeOf(reply) === 'none' ? undefined : reply;
  };

  return {
    ensureLanes: async (pools) => {
      const asked = await Promise.allSettled(
        pools.map(async (pool) => request('lanes', hashOfAgent(pool.agent), { body: toJson(pool) })),
      );
      const failed = asked.flatMap((each, index) => (each.status === 'rejected' ? [{ ...each, index }] : []));
      const [first] = failed;
      if (!first) return;
      const agent = pools[first.index]?.agent ?? defaultAgent;
      const subject = questionSubject(helpSubject, hashOfAgent(agent), 'lanes');
      const reason: unknown = first.reason;
      if (!isUnanswered(reason)) throw reason;
      throw unavailable(unanswered({ agent, subject, isApiThere: failed.length < asked.length }), reason);
    },

    put: async (run) => {
      const asked = { body: toRunPayload(run), headers: toRunHeaders(run) };
      await request('put', hashOfAgent(run.agent ?? defaultAgent), asked);
    },

    reader: {
      last: async (subject) => {
        const reply = await readOne(subject, { read: 'last' });
        return reply && endIn(reply);
      },

      next: async (subject, from) => {
        const reply = await readOne(subject, { read: 'next', from });
        return reply && toStored(reply);
      },

      page: async (subject, from, maxBytes) => {
        const [agentHash, runId] = partsOf(subject);
        const question: LogQuestion = { runId, read: 'page', from, maxBytes };
        const replies = await client.requestMany(
          questionSubject(helpSubject, agentHash, 'log'),
          toJson(question),
          isWithoutContent,
        );
        return replies.flatMap((reply) => toStored(reply) ?? []);
      },
    },
  };
}

/** Whether the server knows of nobody who takes the question; it says so at once. */
const isUnanswered = (error: unknown): boolean =>
  isNoResponder(error) || (error instanceof Error && isNoResponder(error.cause));

interface Unanswered {
  readonly agent: string;
  readonly subject: string;
  /** Whether the same question was answered for another agent. */
  readonly isApiThere: boolean;
}

/** What an operator looks at. The server says the same of a process that is unavailable and of a subject that no import lets through. */
function unanswered({ agent, subject, isApiThere }: Unanswered): string {
  const noImport = `this NATS account does not import this subject for agent ${agent}`;
  const causes = isApiThere ? noImport : `no process with ROLE=api runs, or ${noImport}`;
  return `nobody answers at ${subject}: ${causes} (agent-workflow nats-permissions prints it)`;
}

interface Asked {
  readonly body: Uint8Array;
  readonly headers?: MsgHdrs;
}

type LogRead = { readonly read: 'last' } | { readonly read: 'next'; readonly from: number };

/** A message without content ends the frames of a page. */
const isWithoutContent = ({ data }: Msg): boolean => data.length === 0;

/** The end of a log in an answer. */
const endIn = (reply: Msg): LogEnd => ({
  frame: toStored(reply),
  lastSeq: Number(reply.headers?.get(lastSequenceHeader) ?? 0),
});

const outcomeOf = ({ headers }: Msg): Outcome | undefined => headers?.get(outcomeHeader) as Outcome | undefined;

const toJson = (value: LogQuestion | Pool): Uint8Array => Buffer.from(JSON.stringify(value));
