import { endpoint } from '../common/endpoint.ts';
import * as examples from './examples.ts';
import { Type } from '../../../common/builders.ts';

/** Whether the gateway answers and the caller's credentials are valid. */
export const ping = endpoint({
  name: 'ping',
  tag: 'health',
  summary: 'Tell whether the service answers',
  description: 'Answers `pong`. It needs credentials like every path below `/v1`, so that a client can check them.',
  example: examples.ping,
  method: 'GET',
  path: '/v1/ping',
  aliases: [{ method: 'GET', path: '/ping' }],
  reply: Type.String(),
  access: 'every caller',
  handle: () => '"pong"',
});
