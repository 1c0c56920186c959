import { Type } from 'typebox';
import { objectOf } from './common.ts';

/** The reply of `/readyz`. */
export const Readiness = objectOf('Readiness', {
  status: Type.Literal('ready'),
  degraded: Type.Array(
    objectOf('DegradedPart', {
      name: Type.String({
        description:
          '`threads`, `execution`, `memory`, `redis`, and `nats` when the execution service says so; in one process `record`, `events`, `memory`',
      }),
      reason: Type.String({ description: 'Why it fails for now' }),
    }),
    { description: 'What is away or full; requests that do not need it are served' },
  ),
});
