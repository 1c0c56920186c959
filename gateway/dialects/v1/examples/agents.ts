import type { Example } from '../schemas/described.ts';

export const listAgents: Example = {
  reply: { agents: [{ name: 'default', description: null, is_default: true, tools: ['calculate', 'get_time'] }] },
};

const userName = { type: 'string', description: 'What the agent calls the user', default: '' };

export const getAgent: Example = {
  params: { agent: 'default' },
  reply: {
    name: 'default',
    description: null,
    is_default: true,
    tools: [
      {
        name: 'calculate',
        description: 'Evaluates an arithmetic expression.',
        parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
        remote: false,
      },
    ],
    graph: {
      nodes: [
        { id: '__start__', type: 'start' },
        { id: 'agent', type: 'node' },
        { id: '__end__', type: 'end' },
      ],
      edges: [
        { source: '__start__', target: 'agent', conditional: false },
        { source: 'agent', target: '__end__', conditional: false },
      ],
      mermaid: 'graph TD\n  n0["__start__"]\n  n1["agent"]\n  n2["__end__"]\n  n0 --> n1\n  n1 --> n2',
    },
    state_schema: {
      fields: { user_name: userName },
      type: 'object',
      properties: { user_name: userName },
      required: [],
    },
  },
};

const registeredAt = '2026-01-01T12:00:00.000Z';

export const setAgentRouting: Example = {
  params: { agent: 'default' },
  body: { version: 1, current: 'v1' },
  reply: {
    name: 'default',
    routing: { version: 2, current: 'v1' },
    revisions: [
      { revision: 'v0', state: 'draining', percent: 0, registered_at: registeredAt },
      { revision: 'v1', state: 'current', percent: 100, registered_at: registeredAt },
    ],
  },
};

export const retireRevision: Example = {
  params: { agent: 'default', revision: 'v0' },
  reply: {
    name: 'default',
    routing: { version: 2, current: 'v1' },
    revisions: [
      { revision: 'v0', state: 'retired', percent: 0, registered_at: registeredAt },
      { revision: 'v1', state: 'current', percent: 100, registered_at: registeredAt },
    ],
  },
};
