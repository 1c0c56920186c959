import { choice, type Setting, type Settings, type Values } from '@agent-workflow/kit/env';

const dialectNames = ['a2a', 'agui', 'langgraph', 'mcp', 'openai'] as const;
export type DialectName = (typeof dialectNames)[number];

const isName = (name: string): name is DialectName => (dialectNames as readonly string[]).includes(name);

/** Each name once. */
const names = (doc: string): Setting<readonly DialectName[]> => ({
  doc: `${doc} (${dialectNames.map((name) => `\`${name}\``).join(', ')}); \`none\` for none of them`,
  fallback: dialectNames,
  read: (value) => {
    if (value.trim() === 'none') return [];
    const list = [...new Set(value.split(',').map((name) => name.trim()))];
    const known = list.filter(isName);
    return known.length === list.length
      ? known
      : { problem: `must be none, or names of ${dialectNames.join(', ')}, separated by commas` };
  },
});

/** Which dialects are served beside the service's own. */
export const dialectSettings = {
  DIALECTS: names(
    'Protocols of other clients that are served beside `/v1`, each below a path of its own, separated by commas',
  ),
  MCP_MEMORY_TOOLS: choice(
    ['on', 'off'],
    'off',
    'Whether clients of MCP have tools that search the memory of the caller, and store in it',
  ),
} satisfies Settings;

export type DialectConfig = Values<typeof dialectSettings>;
