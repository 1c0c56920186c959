import { readFileSync } from 'node:fs';

/** The language of a project's agent and test. */
export type Language = 'ts' | 'js';

interface Project {
  readonly name: string;
  readonly language: Language;
  /** Of the packages that it depends on. */
  readonly version: string;
}

/** The files of a new project: path → text. */
export function projectFiles(project: Project): Readonly<Record<string, string>> {
  const { name, language } = project;
  return {
    'package.json': manifest(project),
    [`agent.${language}`]: template('agent.ts', language),
    [`agent.test.${language}`]: template('agent.test.ts', language),
    'service.json': json({ agent: `./agent.${language}:graph`, auth: null, authorization: null }),
    ...(language === 'ts' && { 'tsconfig.json': typeScript }),
    '.env.example': environment,
    '.gitignore': ignored,
    Dockerfile: `FROM agent-workflow-service\nCOPY . /app/agents/${name}\n`,
    '.dockerignore': ignored,
    'values.yaml': values(project),
    'README.md': readme(project),
  };
}

/** A file of `template/`, which is TypeScript without annotations: as JavaScript it differs in what it imports alone. */
function template(file: string, language: Language): string {
  const text = readFileSync(new URL(`./template/${file}`, import.meta.url), 'utf8');
  return language === 'ts' ? text : text.replaceAll("'./agent.ts'", "'./agent.js'");
}

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

function manifest({ name, language, version }: Project): string {
  const typed = language === 'ts';
  return json({
    ...{ name, version: '0.1.0', private: true, type: 'module', engines: { node: `>=${neededNode}` } },
    scripts: {
      dev: 'agent-workflow dev',
      start: 'agent-workflow start',
      check: 'agent-workflow check',
      pretest: testNode,
      test: typed ? testTypeScript : 'node --test',
      ...(typed && { types: 'tsc' }),
    },
    dependencies: { '@agent-workflow/graph': version, '@agent-workflow/server': version },
    ...(typed && { devDependencies: { '@types/node': '^24.0.0', typescript: '^6.0.0' } }),
  });
}

/** From here on Node runs TypeScript as it is. */
const neededNode = '22.18';

/** An older Node says of the tests that it could not find them. The double quotes are for Windows, too. */
const testNode =
  `node -e "const { node } = process.versions; if (node.localeCompare('${neededNode}', 'en', { numeric: true }) < 0) ` +
  `{ console.error('Node ${neededNode} or newer is needed, this is ' + node); process.exitCode = 1; }"`;

/**
 * With a pattern: a Node that is too old for TypeScript finds no file of that name and fails. Without one it leaves out files of
 * TypeScript, runs no test and ends with 0. The double quotes are for Windows, too.
 */
const testTypeScript = 'node --test "**/*.test.{ts,js}"';

const typeScript = json({
  compilerOptions: {
    ...{ target: 'es2024', module: 'nodenext', strict: true, noEmit: true, types: ['node'] },
    ...{ erasableSyntaxOnly: true, verbatimModuleSyntax: true, allowImportingTsExtensions: true },
  },
  include: ['*.ts'],
});

const ignored = 'node_modules\n.data\n.env\n';

const environment = `# Copy this file to .env, which \`npm run dev\` reads; other commands take settings from the environment alone.
# Every setting has a default, and a start names those that do not hold.
# PORT=8000
# DATA_DIR=.data
# LOG_LEVEL=info
# MODEL=gpt-5-mini
# OPENAI_API_KEY=
`;

const values = ({
  name,
  language,
}: Project): string => `# Values for the chart \`standalone\`: one process, with its data in a volume. \`global\` is the same in the chart \`agent-workflow\`.
global:
  # The image that is built by the Dockerfile beside this file.
  image:
    repository: '${name}'
    tag: '0.1.0'
  serviceFile:
    agent: /app/agents/${name}/agent.${language}:graph
# The key that the tokens of callers are signed with, in a Secret that must exist.
secretEnv:
  JWT_SECRET_KEY: { name: '${name}', key: jwt-secret-key }
`;

const readme = ({ name, language }: Project): string => `# ${name}

An agent that calculates and remembers. It answers by rules and needs no key; with \`MODEL\` and \`OPENAI_API_KEY\` in \`.env\` a model answers.

\`\`\`sh
npm run dev     # serves it at http://127.0.0.1:8000, and starts over when a file is saved
npm test        # walks through its graph without a server
npm run check   # says what would refuse a start
npm start       # serves it as it is
\`\`\`

A request, while it is served:

\`\`\`sh
curl -s 127.0.0.1:8000/v1/graph/invoke -H 'content-type: application/json' -d '{
  "messages": [{"role": "user", "content": "What is 12 * 7?"}],
  "config": {"thread_id": "one"}
}'
\`\`\`

\`/playground\` is a page to talk to it, \`/docs\` the guide for callers, \`/docs/authors\` the one for authors of agents. The package \`@agent-workflow/graph\` holds that one, too, in \`node_modules\`.

| file | what it is |
|---|---|
| \`agent.${language}\`, \`agent.test.${language}\` | the agent and its test |
| \`service.json\` | which agent is served, and how callers sign in |
| \`.env.example\` | settings; a copy named \`.env\` is read by \`npm run dev\` |
| \`Dockerfile\`, \`values.yaml\` | its image, and the values of the chart \`standalone\` |
`;
