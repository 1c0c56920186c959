import type { Example } from '../schemas/described.ts';

export const ping: Example = { reply: 'pong' };

export const healthz: Example = { reply: 'ok' };

export const readyz: Example = { reply: { status: 'ready', degraded: [] } };

export const openApi: Example = {
  reply: { openapi: '3.1.0', info: { title: 'Agent Workflow Service', version: '1' }, paths: {} },
};
