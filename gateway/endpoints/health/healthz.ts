import { Type } from 'typebox';
import { endpoint } from '../common/services.ts';

/** Whether the process is alive: no service is called. */
export const healthz = endpoint({
  name: 'healthz',
  tag: 'health',
  summary: 'Tell whether the process lives',
  method: 'GET',
  path: '/healthz',
  reply: Type.String(),
  access: 'every caller',
  handle: () => '"ok"',
});
