/** A package that outsiders install. What it is made of stands in the tree; where, and what of it is public, stands here. */
export interface Publication {
  readonly name: string;
  readonly description: string;
  /** The workspace whose `package.json` names its exports, by its folder. */
  readonly folder: string;
  /** Its page, where that is not the workspace's. */
  readonly readme?: string;
  /** Further pages and folders, by their paths in the tree, and where they stand in the package. */
  readonly pages?: Readonly<Record<string, string>>;
  /** The exports that are public; `undefined` takes those of the workspace. */
  readonly entries?: Readonly<Record<string, string>>;
  /** Whether types of its exports are part of it: a package that is only run has none. */
  readonly isTyped: boolean;
  /** Whether its modules are joined into few files: a process loads all of them when it starts. */
  readonly isBundled: boolean;
  /** Its commands, as files of the folder. */
  readonly bin?: Readonly<Record<string, string>>;
  /** Modules that are part of it without being exports, as paths from the root: the image runs them by their files. */
  readonly programs?: readonly string[];
  /** Workspaces of ours that stay packages of their own beside it. */
  readonly peers: readonly string[];
  /** Packages of others that are copied into it, with their licences, because they are small. */
  readonly copied: readonly string[];
  /** Files that are read and not imported, as patterns below the folders of its workspaces. */
  readonly assets: readonly string[];
  /** Such files that are built, or belong to another package: their paths from the root, and where they stand in the package. */
  readonly servedFiles?: Readonly<Record<string, string>>;
}

/**
 * What the image runs or loads by its path: each process, each command of an operator, and the agent that is served when no other is
 * named. Charts, jobs and values of operators name these paths.
 */
export const programs = [
  'gateway/main.ts',
  'services/command/init/template/agent.ts',
  'services/execution/main.ts',
  'services/memory/export.ts',
  'services/memory/import.ts',
  'services/memory/main.ts',
  'services/memory/reindex.ts',
  'services/standalone/main.ts',
  'services/threads/main.ts',
  'services/threads/migrate.ts',
] as const;

/** The path of a module once it is built. */
export const toBuilt = (path: string): string => path.replace(/\.ts$/, '.js');

export const publications: readonly Publication[] = [
  {
    name: '@agent-workflow/graph',
    description:
      'Write agents as graphs: typed state, tools, interrupts, retries, and a kit to test them without a server.',
    folder: 'services/graph',
    pages: {
      'services/graph/guide': 'guide',
      'services/graph/LANGGRAPH.md': 'LANGGRAPH.md',
      'services/graph/mcp/README.md': 'MCP.md',
      'test/cookbook': 'cookbook',
    },
    isTyped: true,
    isBundled: true,
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
    isBundled: false,
    peers: [],
    copied: [],
    assets: [],
  },
  {
    name: '@agent-workflow/client',
    description:
      'Typed client of the Agent Workflow Service for browsers and Node: streams that resume, remote tools, typed errors.',
    folder: 'services/client',
    pages: { 'services/client/WAITING.md': 'WAITING.md' },
    isTyped: true,
    isBundled: false,
    peers: [],
    copied: [],
    assets: [],
  },
  {
    name: '@agent-workflow/langgraph',
    description:
      'Runs graphs of LangGraph.js as agents of the Agent Workflow Service: one super-step a step, each committed.',
    folder: 'services/langgraph',
    isTyped: true,
    isBundled: false,
    peers: ['@agent-workflow/graph'],
    copied: [],
    assets: [],
  },
  {
    name: '@agent-workflow/server',
    description:
      'Runs agent workflows durably, with threads, runs, streams and memory, behind one URL; with the command agent-workflow.',
    folder: 'services/command',
    isTyped: false,
    isBundled: true,
    bin: { 'agent-workflow': 'main.ts' },
    programs,
    peers: ['@agent-workflow/graph'],
    copied: [],
    assets: [
      'protos/*.proto',
      'protos/wire/*.proto',
      'services/command/init/template/*',
      'gateway/guide/*.md',
      'gateway/pages/assets/*.{css,js,svg}',
    ],
    servedFiles: {
      'services/playground/dist': 'gateway/pages/assets/playground',
      'services/playground/styles/tokens.css': 'gateway/pages/assets/tokens.css',
      'services/graph/guide': 'gateway/pages/assets/authors',
    },
  },
];
