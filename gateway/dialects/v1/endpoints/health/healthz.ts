import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';
import { Type } from '../../../common/builders.ts';

/** Whether the process is alive: no service is called. */
export const healthz = endpoint({
  name: 'healthz',
  tag: 'health',
  summary: 'Tell whether the process lives',
  description: '200 while the process is alive. No service is called, and no credentials are needed.',
  example: examples.healthz,
  method: 'GET',
  path: '/healthz',
  reply: Type.String(),
  access: 'every caller',
  handle: () => '"ok"',
});
