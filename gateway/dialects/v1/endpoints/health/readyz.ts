import { Readiness } from '../../schemas/health.ts';
import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';

/**
 * Whether requests can be served, which is whether the record can be read. What else is unavailable or full is listed in
 * `degraded` and changes nothing: a gateway that left its service because of it would take down everything that still works.
 * @throws Unavailable when the record cannot be read, or not in time.
 */
export const readyz = endpoint({
  name: 'readyz',
  tag: 'health',
  summary: 'Tell whether requests can be served',
  description:
    '503 only while the record cannot be read; what else is unavailable or full stands in `degraded`, and requests that do not need it are served. No credentials are needed. Results are kept for a second.',
  example: examples.readyz,
  method: 'GET',
  path: '/readyz',
  reply: Readiness,
  access: 'every caller',
  handle: async (_request, { readiness }) => JSON.stringify({ status: 'ready', degraded: await readiness.check() }),
});
