import { Type } from '../../common/builders.ts';
import * as examples from '../examples/health.ts';
import { JsonObject } from '../schemas/common.ts';
import { Readiness } from '../schemas/health.ts';
import { endpoint } from './common/endpoint.ts';

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

/** The OpenAPI document. */
export const openApi = endpoint({
  name: 'openApi',
  tag: 'health',
  summary: 'Describe this interface',
  description: 'This document, as JSON. No credentials are needed. `/docs/api` shows it to people.',
  example: examples.openApi,
  method: 'GET',
  path: '/openapi.json',
  answer: 'bare',
  reply: JsonObject,
  access: 'every caller',
  handle: (_request, services) => services.openApi(),
});
