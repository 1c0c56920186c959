import { Readiness } from '../../schemas/health.ts';
import { endpoint } from '../common/services.ts';

/**
 * Whether requests can be served: the record answers. What else is away or full is told beside it and changes nothing: a gateway
 * that left for its sake would take with it whatever still works.
 * @throws Unavailable when the record cannot be read, or not in time.
 */
export const readyz = endpoint({
  name: 'readyz',
  tag: 'health',
  summary:
    'Tell whether requests can be served: 503 only while the record cannot be read; what else is away or full stands in `degraded`',
  method: 'GET',
  path: '/readyz',
  reply: Readiness,
  handle: async (_ask, { parts }) => JSON.stringify({ status: 'ready', degraded: await parts.check() }),
});
