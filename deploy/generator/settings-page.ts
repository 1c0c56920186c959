import type { Setting } from '@agent-workflow/kit/env';
import { parts, readPartSettings, type Part } from './settings.ts';

/** One row of the page. */
interface Row {
  readonly name: string;
  readonly setting: Setting<unknown>;
  readonly readers: readonly Part[];
}

interface Section {
  readonly title: string;
  readonly intro: string;
  readonly holds: (row: Row) => boolean;
}

const readOnlyBy =
  (part: Part) =>
  ({ readers }: Row): boolean =>
    readers.every((reader) => reader === part || reader === 'standalone');

/** A setting is listed in the first section that holds it; the last section holds all others. */
const sections: readonly Section[] = [
  { title: 'Every process', intro: '', holds: ({ readers }) => readers.length === parts.length },
  {
    title: 'Gateway',
    intro: 'HTTP, authentication, limits, and Redis, where the gateways of a cluster share what they count.',
    holds: readOnlyBy('gateway'),
  },
  { title: 'Threads', intro: 'The record of threads and runs, and its store.', holds: readOnlyBy('threads') },
  {
    title: 'Execution',
    intro: 'Runs and their workers, NATS, and the agent that comes with the service (`MODEL`, `OPENAI_…`).',
    holds: readOnlyBy('execution'),
  },
  { title: 'Memory', intro: 'Memories, their embeddings, and Weaviate.', holds: readOnlyBy('memory') },
  {
    title: 'Several processes',
    intro: 'Where the data and the service file are, and how the processes of a cluster find and trust each other.',
    holds: () => true,
  },
];

const introduction = `# Settings

\`npm run docs\` writes this page from the code; a test compares the two.

A setting is an environment variable. An empty value counts as unset. A value that is not accepted stops the start. The
message names all variables at once that cannot be read or do not fit together; what depends on \`service.json\`, as the
settings of an agent, is checked after these. At start each process logs the settings that it took, secrets and passwords in addresses masked,
and warns in one line of variables that have no effect on it: settings of other processes, and names that resemble a setting.

\`npm start\` is the process \`standalone\`. In a cluster the processes are \`gateway\`, \`threads\`, \`execution\` and \`memory\`; the
[charts](README.md) set addresses, ports and certificates themselves and take the rest below \`config\` of each part.

## The service file

\`service.json\` names the agent, or several, and how callers are authenticated; \`SERVICE_CONFIG\` names a file elsewhere.

| Key | Meaning |
|---|---|
| \`agent\` | The graph, as \`<module>:<object>\`: a file relative to \`service.json\`, TypeScript or JavaScript, or a package |
| \`agents\` | Several graphs by name, in place of \`agent\`: \`{"<name>": "<module>:<object>"}\` or \`{"<name>": {"path": "<module>:<object>", "description": "…"}}\`. A name has 1 to 63 of \`a-z\`, \`0-9\` and \`-\`, and begins with a letter |
| \`default_agent\` | The name of the agent that serves new threads whose first run names none. Of one agent it is that one; of several there is none unless it is named here. Where the file names no agents, a process in the role \`api\` serves those that are registered, and this may name one that is not registered yet |
| \`auth\` | \`null\`: no authentication, one owner, and the service listens on the loopback unless \`HOST\` says otherwise. \`"jwt"\`: bearer tokens. \`{"method": "custom", "path": "<module>:<class>"}\`: your own backend |
| \`authorization\` | \`<module>:<object>\`: a backend that decides what a caller may do; absent or \`null\`: everything, but \`agents:deploy\` (which revisions of an agent serve) only where the gateway listens on a loopback address |
| \`access\` | Roles, and what they allow beside one's own things: \`{"claim": "roles", "roles": {"<name>": {"is": "approver", "agents": […], "nodes": […]}}, "knowledge": {"<scope>": {"read": […], "write": […]}}}\`; absent: nobody has a role. See [access](../gateway/access/README.md) |

How tokens are checked and how backends are written: [gateway](../gateway/auth/authentication.md).
`;

/** `deploy/settings.md`. */
export async function settingsPage(): Promise<string> {
  const rows = await readRows();
  const tables = sections.map((section) => {
    const own = rows.filter((row) => sections.find(({ holds }) => holds(row)) === section);
    return tableOf(section, own);
  });
  return [introduction, ...tables].join('\n');
}

/** Every setting, with the processes that read it. */
async function readRows(): Promise<readonly Row[]> {
  const rows = new Map<string, Row>();
  for (const part of parts) {
    for (const [name, setting] of await readPartSettings(part)) {
      rows.set(name, { name, setting, readers: [...(rows.get(name)?.readers ?? []), part] });
    }
  }
  return [...rows.values()];
}

function tableOf({ title, intro }: Section, rows: readonly Row[]): string {
  const lines = rows.map(({ name, setting: { doc, secret, fallback }, readers }) => {
    const readBy = readers.length === parts.length ? 'all' : readers.join(', ');
    return `| \`${name}\` | ${defaultOf(fallback)} | ${readBy} | ${doc}${secret ? ' (secret)' : ''} |`;
  });
  const head = ['| Variable | Default | Read by | Meaning |', '|---|---|---|---|'];
  return [`## ${title}`, '', ...(intro === '' ? [] : [intro, '']), ...head, ...lines, ''].join('\n');
}

const defaultOf = (fallback: unknown): string =>
  fallback === undefined || fallback === '' ? '' : `\`${JSON.stringify(fallback).replaceAll('"', '')}\``;
