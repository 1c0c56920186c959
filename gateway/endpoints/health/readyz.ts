import { Readiness } from '../../schemas/health.ts';
import { endpoint } from '../common/services.ts';

/**
 * Whether requests can be served, which is whether the record can be read. What else is unavailable or full is listed in
 * `degraded` and changes nothing: a gateway that left its service because of it would take down everything that still works.
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
  access: 'every caller',
  handle: async (_request, { readiness }) => JSON.stringify({ status: 'ready', degraded: await readiness.check() }),
});
