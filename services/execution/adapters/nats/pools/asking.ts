import { isServiceError, unavailable } from '@agent-workflow/kit/errors';
import { defaultAgent } from '@agent-workflow/kit/agents';
import type { Msg, MsgHdrs } from 'nats';
import type { RunnableRun } from '../../../ports/queue.ts';
import { fromNatsError, type NatsClient } from '../client/client.ts';
import { hashOfAgent, type Pool } from '../client/pools.ts';
import type { StreamNames } from '../client/streams.ts';
import { toStored, type Reader } from '../log/reader.ts';
import { toRunHeaders } from '../queue/headers.ts';
import { toRunPayload } from '../queue/run-message.ts';
import { outcomeHeader, questionSubject, type LogQuestion, type Outcome, type Question } from './questions.ts';

/** What replicas of the role `api` do for a worker of a pool. */
interface Asking {
  /** Creates the pool's consumers. @throws Unavailable when nobody answers. */
  readonly ensureLanes: (pool: Pool) => Promise<void>;
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

  const readOne = async (subject: string, read: LogRead): ReturnType<Reader['last']> => {
    const [agentHash, runId] = partsOf(subject);
    const reply = await request('log', agentHash, { body: toJson({ runId, ...read }) });
    return outcomeOf(reply) === 'none' ? undefined : toStored(reply);
  };

  return {
    ensureLanes: async (pool) => {
      await request('lanes', hashOfAgent(pool.agent), { body: toJson(pool) });
    },

    put: async (run) => {
      const asked = { body: toRunPayload(run), headers: toRunHeaders(run) };
      await request('put', hashOfAgent(run.agent ?? defaultAgent), asked);
    },

    reader: {
      last: async (subject) => readOne(subject, { read: 'last' }),
      next: async (subject, from) => readOne(subject, { read: 'next', from }),

      page: async (subject, from, maxBytes) => {
        const [agentHash, runId] = partsOf(subject);
        const question: LogQuestion = { runId, read: 'page', from, maxBytes };
        const replies = await client.requestMany(questionSubject(helpSubject, agentHash, 'log'), toJson(question));
        return replies.filter(({ data }) => data.length > 0).map(toStored);
      },
    },
  };
}

interface Asked {
  readonly body: Uint8Array;
  readonly headers?: MsgHdrs;
}

type LogRead = { readonly read: 'last' } | { readonly read: 'next'; readonly from: number };

const outcomeOf = ({ headers }: Msg): Outcome | undefined => headers?.get(outcomeHeader) as Outcome | undefined;

const toJson = (value: LogQuestion | Pool): Uint8Array => Buffer.from(JSON.stringify(value));
