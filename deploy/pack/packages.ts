/** A package that outsiders install. What it is made of stands in the tree; where, and what of it is public, stands here. */
export interface Publication {
  readonly name: string;
  readonly description: string;
  /** The workspace whose `package.json` names its exports, by its folder. */
  readonly folder: string;
  /** Its page, where that is not the workspace's. */
  readonly readme?: string;
  /** The exports that are public; `undefined` takes those of the workspace. */
  readonly entries?: Readonly<Record<string, string>>;
  /** Whether types of its exports are part of it: a package that is only run has none. */
  readonly isTyped: boolean;
  /** Its commands, as files of the folder. */
  readonly bin?: Readonly<Record<string, string>>;
  /** Workspaces of ours that stay packages of their own beside it. */
  readonly peers: readonly string[];
  /** Packages of others that are copied into it, with their licences, because they are small. */
  readonly copied: readonly string[];
  /** Files that are read and not imported, as patterns below the folders of its workspaces. */
  readonly assets: readonly string[];
}

export const publications: readonly Publication[] = [
  {
    name: '@agent-workflow/graph',
    description:
      'Write agents as graphs: typed state, tools, interrupts, retries, and a kit to test them without a server.',
    folder: 'services/graph',
    isTyped: true,
    peers: [],
    copied: ['ajv-formats', 'p-retry', 'is-network-error'],
    assets: [],
  },
  {
    name: '@agent-workflow/auth',
    description: 'Write backends that authenticate and authorize callers of the Agent Workflow Service.',
    folder: 'gateway',
    readme: 'gateway/auth/README.md',
    entries: { '.': './auth/backend.ts' },
    isTyped: true,
    peers: [],
    copied: [],
    assets: [],
  },
  {
    name: '@agent-workflow/client',
    description:
      'Typed client of the Agent Workflow Service for browsers and Node: streams that resume, remote tools, typed errors.',
    folder: 'services/client',
    isTyped: true,
    peers: [],
    copied: [],
    assets: [],
  },
  {
    name: '@agent-workflow/server',
    description:
      'Runs agent workflows durably, with threads, runs, streams and memory, behind one URL; with the command agent-workflow.',
    folder: 'services/command',
    isTyped: false,
    bin: { 'agent-workflow': 'main.ts' },
    peers: ['@agent-workflow/graph'],
    copied: [],
    assets: ['protos/*.proto', 'services/command/init/template/*'],
  },
];
