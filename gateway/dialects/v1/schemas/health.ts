import { objectOf, text } from './common.ts';
import { Type } from '../../common/builders.ts';

/** The reply of `/readyz`. */
export const Readiness = objectOf('Readiness', 'That requests are served, and what is missing for some of them.', {
  status: Type.Literal('ready', { description: 'Always `ready`: otherwise the reply is 503' }),
  degraded: Type.Array(
    objectOf('DegradedPart', 'A part that is unavailable or full.', {
      name: text(
        '`threads`, `execution`, `memory`, `redis`, `files` (where their bytes are), and `nats` when the execution service says so; in one process `record`, `events`, `memory`, `files`',
      ),
      reason: text('Why it fails for now'),
    }),
    { description: 'What is unavailable or full; requests that do not need it are served' },
  ),
});
