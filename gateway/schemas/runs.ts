import { runStatuses } from '@agent-workflow/protos/lists';
import { Type } from 'typebox';
import { BodyId, Id, paged, paging, record, Timestamp, words } from './common.ts';

export const RunParams = Type.Object({ run_id: Id });

/** A run as it is told when it is accepted. */
export const AcceptedRun = record('AcceptedRun', {
  run_id: Type.String(),
  thread_id: Type.String(),
  status: words(runStatuses),
});

export const Run = record('Run', {
  run_id: Type.String(),
  thread_id: Type.String(),
  status: words(runStatuses),
  created_at: Timestamp,
  updated_at: Timestamp,
  resumes: Type.Optional(Type.String()),
  iterations: Type.Optional(Type.Integer()),
  recursion_limit_reached: Type.Optional(Type.Boolean()),
  error: Type.Optional(
    record('RunError', { code: Type.String(), message: Type.String(), node: Type.Optional(Type.String()) }),
  ),
});

export const RunList = record('RunList', { runs: Type.Array(Run), ...paged });

export const RunsQuery = Type.Object({ ...paging });

/** Which event a stream goes on after, where `Last-Event-ID` does not say it. */
export const StreamQuery = Type.Object({
  after: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        'Number of the last event that was seen; beyond the end of the log, only what comes after it is given',
    }),
  ),
});

/** Lets whoever holds it follow one run. */
export const RunTicket = record('RunTicket', { ticket: Type.String(), expires_at: Timestamp });

const stopped = {
  success: Type.Boolean(),
  run_id: Type.Unsafe<string | null>({ type: ['string', 'null'] }),
  status: words([...runStatuses, 'idle']),
  message: Type.String(),
};

export const StoppedRun = record('StoppedRun', stopped);
export const StoppedThread = record('StoppedThread', { ...stopped, thread_id: Type.String() });

/** The thread whose run is to be stopped. */
export const StopInput = record('StopRequest', {
  thread_id: Type.Optional(BodyId),
  config: Type.Optional(record('StopConfig', { thread_id: Type.Optional(BodyId) })),
});

export const FixedThread = record('FixedThread', {
  success: Type.Boolean(),
  message: Type.String(),
  removed_count: Type.Integer(),
  state: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
});

export const NoInput = Type.Object({});
