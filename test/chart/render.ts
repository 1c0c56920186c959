import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { provisioned, versions } from '../servers/provisioned.ts';
import type { Scenario } from './scenarios.ts';
import { root } from './root.ts';

const run = promisify(execFile);

/** The Helms that the charts are good for. */
export type Helm = 'helm' | 'helm3';

/** What an object of Kubernetes is known by; the rest is looked at where it matters. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: unknown;
  readonly data?: Readonly<Record<string, string>>;
}

/** Where the reviewed render of a scenario stands. */
export const goldenOf = ({ title }: Scenario): string => join(root, 'test/chart/golden', `${title}.yaml`);

/** The release that all renders are of. */
export const release = { name: 'demo', namespace: 'agents' } as const;

interface RenderOptions {
  readonly helm?: Helm;
  readonly more?: readonly string[];
}

/** What `helm template` makes of a scenario. @throws Error with what Helm says. */
export async function render(
  { chartFolder, values }: Pick<Scenario, 'chartFolder' | 'values'>,
  { helm = 'helm', more = [] }: RenderOptions = {},
): Promise<string> {
  const place = ['--namespace', release.namespace, '--kube-version', versions.kubernetes];
  return runHelm(helm, ['template', release.name, chartFolder, '--values', values, ...place, ...more]);
}

/** @returns what it prints. @throws Error with what Helm says. */
export async function runHelm(
  helm: Helm,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const program = provisioned(helm);
  if (program === undefined) throw new Error(`${helm} is absent: run \`npm run servers -- --kubernetes\``);
  const { stdout } = await run(program, args, {
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...env },
  });
  return stdout;
}

/** What kubeconform says of a render. */
export interface Conformance {
  readonly summary: {
    readonly valid: number;
    readonly invalid: number;
    readonly errors: number;
    readonly skipped: number;
  };
  /** What is not valid, with the reason. */
  readonly resources: readonly { readonly kind: string; readonly name: string; readonly msg: string }[];
}

/** Holds a render against the schemas in a folder. */
export async function conformance(rendered: string, schemas: string): Promise<Conformance> {
  const location = `${schemas}/{{.ResourceKind}}{{.KindSuffix}}.json`;
  const args = ['-strict', '-summary', '-output', 'json', '-schema-location', location];
  const child = spawn(provisioned('kubeconform') ?? '', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(rendered);
  const [said] = await Promise.all([text(child.stdout), once(child, 'close')]);
  return JSON.parse(said) as Conformance;
}

/** The objects of a render. */
export const manifestsOf = (rendered: string): readonly Manifest[] =>
  parseAllDocuments(rendered)
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null);
