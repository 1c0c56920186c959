import type { Run, Thread } from '@agent-workflow/client';
import { serviceNow } from '../../session/clock.ts';
import { toHash } from '../../session/route.ts';
import { counted, duration } from '../../ui/format.ts';
import { RelativeTime } from '../../ui/patterns/relative-time.tsx';
import { Row } from '../../ui/patterns/row.tsx';
import { isAnswered, tokensOf, tookMs, whyOf } from '../runs/run-words.ts';
import { whyOfThread } from '../threads/thread-selection.ts';
import { toPlaceId, userOf, type Owned } from './of-owner.ts';

/** The name of a run of somebody in addresses and lists. */
export const placeIdOf = (run: Run): string => toPlaceId({ userId: userOf(run), runId: run.run_id });

/** The address of a thread of somebody. */
export const toThreadHash = (userId: string, threadId: string): string =>
  toHash({ view: 'operators', query: { thread: threadId, user: userId } });

const nameOf = (item: Owned): string => `${userOf(item) || 'Anonymous'}, ${item.thread_id}`;

/** A run of somebody in a list. */
export function OwnedRun({ run }: { readonly run: Run }) {
  const took = tookMs(run, serviceNow());
  const tokens = tokensOf(run);
  return (
    <Row
      href={toHash({ view: 'operators', id: placeIdOf(run) })}
      status={isAnswered(run) ? 'asked' : run.status}
      title={nameOf(run)}
      why={whyOf(run)}
      facts={[run.agent, took !== undefined && duration(took), tokens !== undefined && counted(tokens, 'token')].filter(
        (fact) => typeof fact === 'string',
      )}
      time={<RelativeTime at={run.created_at} />}
    />
  );
}

/** A thread of somebody in a list. */
export const OwnedThread = ({ thread }: { readonly thread: Thread }) => (
  <Row
    href={toThreadHash(userOf(thread), thread.thread_id)}
    status={thread.status ?? 'idle'}
    title={nameOf(thread)}
    why={whyOfThread(thread)}
    facts={[thread.agent].filter((fact) => typeof fact === 'string')}
    time={<RelativeTime at={thread.updated_at} />}
  />
);
