import { Type } from 'typebox';
import { endpoint } from '../common/services.ts';

/** Whether the process lives: nothing behind it is asked. */
export const healthz = endpoint({
  name: 'healthz',
  tag: 'health',
  summary: 'Tell whether the process lives',
  method: 'GET',
  path: '/healthz',
  reply: Type.String(),
  handle: () => '"ok"',
});
