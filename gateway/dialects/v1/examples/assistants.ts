import type { Example } from '../schemas/described.ts';
import { exampleIds } from './ids.ts';

const contents = {
  agent: 'default',
  name: 'Brief',
  description: null,
  metadata: { team: 'support' },
  config: { tone: 'brief' },
  context: { locale: 'en' },
};

const assistant = {
  assistant_id: exampleIds.assistant,
  version: 1,
  newest_version: 1,
  ...contents,
  created_at: '2026-02-05T12:00:00.000Z',
  updated_at: '2026-02-05T12:00:00.000Z',
};

const version = {
  assistant_id: exampleIds.assistant,
  version: 1,
  ...contents,
  created_at: '2026-02-05T12:00:00.000Z',
};

export const createAssistant: Example = {
  body: {
    agent: 'default',
    name: 'Brief',
    metadata: { team: 'support' },
    config: { tone: 'brief' },
    context: { locale: 'en' },
  },
  reply: assistant,
};

export const listAssistants: Example = {
  query: { metadata: { team: 'support' }, limit: 100 },
  reply: { assistants: [assistant], has_more: false },
};

export const getAssistant: Example = { params: { assistant_id: exampleIds.assistant }, reply: assistant };

export const updateAssistant: Example = {
  params: { assistant_id: exampleIds.assistant },
  body: { config: { tone: 'friendly' }, version: 1 },
  reply: { ...assistant, version: 2, newest_version: 2, config: { tone: 'friendly' } },
};

export const deleteAssistant: Example = {
  params: { assistant_id: exampleIds.assistant },
  reply: { success: true },
};

export const listAssistantVersions: Example = {
  params: { assistant_id: exampleIds.assistant },
  query: { limit: 10 },
  reply: { versions: [version], has_more: false },
};

export const getAssistantVersion: Example = {
  params: { assistant_id: exampleIds.assistant, version: '1' },
  reply: version,
};

export const setAssistantVersion: Example = {
  params: { assistant_id: exampleIds.assistant },
  body: { version: 1 },
  reply: assistant,
};
