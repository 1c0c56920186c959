import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processEnv } from '@agent-workflow/kit/env';
import { runToEnd } from './provision-run.ts';
import { versions } from './provisioned.ts';

const kubernetes = `k8s.io/kubernetes@v${versions.kubernetes}`;

/** What extends the API, and where its module keeps the definitions. */
const extensions = [
  { module: 'github.com/kedacore/keda/v2@v2.21.0', folder: 'config/crd/bases' },
  { module: 'sigs.k8s.io/gateway-api@v1.6.3', folder: 'config/crd/standard' },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.85.0',
    folder: 'example/prometheus-operator-crd',
  },
  { module: 'github.com/cert-manager/cert-manager@v1.21.2', folder: 'deploy/crds' },
];

/** `swagger.json`, and the custom resource definitions, a file each, in `crds`. */
export async function fetchApis(folder: string): Promise<void> {
  const sources = await download(folder, kubernetes);
  await copyFile(join(sources, 'api/openapi-spec/swagger.json'), join(folder, 'swagger.json'));
  const crds = join(folder, 'crds');
  await mkdir(crds);
  for (const { module, folder: inside } of extensions) {
    const from = join(await download(folder, module), inside);
    for (const name of (await readdir(from)).filter(isDefinition)) await copyFile(join(from, name), join(crds, name));
  }
}

const isDefinition = (name: string): boolean => name.endsWith('.yaml') && name !== 'kustomization.yaml';

/** Go keeps its modules read-only; a copy is not. */
const copyFile = async (from: string, to: string): Promise<void> => writeFile(to, await readFile(from));

/** @returns where the module's files are. */
async function download(folder: string, module: string): Promise<string> {
  const report = join(folder, 'module.json');
  // Its standard output, which only a shell can send to a file.
  await runToEnd('/bin/sh', ['-c', 'exec go mod download -json "$1" > "$2"', 'sh', module, report], { cwd: folder });
  const { Dir } = JSON.parse(await readFile(report, 'utf8')) as { readonly Dir: string };
  await rm(report);
  return Dir;
}

const programs = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

/**
 * The programs of a control plane, etcd for its data, and kwok, which plays the nodes, with the stages that it plays. Programs of
 * modules that replace others can only be built from a module that does the same.
 */
export async function buildKubernetes(folder: string): Promise<void> {
  await buildFrom({
    folder,
    goMod: 'module scratch\n\ngo 1.26.0\n\nrequire go.etcd.io/etcd/server/v3 v3.7.3\n',
    programs: { etcd: 'go.etcd.io/etcd/server/v3' },
    flags: '-s -w',
  });
  await runToEnd('go', ['install', '-ldflags=-s -w', `sigs.k8s.io/kwok/cmd/kwok@v${kwok}`], {
    cwd: folder,
    env: { ...processEnv(), GOBIN: folder },
  });
  await writeStages(folder);
  const [major = '', minor = ''] = versions.kubernetes.split('.');
  const version = 'k8s.io/component-base/version';
  await buildFrom({
    folder,
    goMod: await kubernetesModule(folder),
    programs: Object.fromEntries(programs.map((name) => [name, `k8s.io/kubernetes/cmd/${name}`])),
    flags: `-s -w -X ${version}.gitVersion=v${versions.kubernetes} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`,
  });
}

const kwok = '0.8.0';

interface Build {
  readonly folder: string;
  readonly goMod: string;
  /** Package by the name of the program. */
  readonly programs: Readonly<Record<string, string>>;
  readonly flags: string;
}

async function buildFrom({ folder, goMod, programs: wanted, flags }: Build): Promise<void> {
  const scratch = join(folder, 'scratch');
  await mkdir(scratch);
  const imports = Object.values(wanted).map((path) => `import _ "${path}"\n`);
  await writeFile(join(scratch, 'go.mod'), goMod);
  await writeFile(join(scratch, 'tools.go'), `//go:build tools\n\npackage scratch\n\n${imports.join('')}`);
  await runToEnd('go', ['mod', 'tidy'], { cwd: scratch });
  for (const [name, path] of Object.entries(wanted)) {
    await runToEnd('go', ['build', '-ldflags', flags, '-o', join(folder, name), path], { cwd: scratch });
  }
  await rm(scratch, { recursive: true });
}

/** Kubernetes' own go.mod takes its parts from folders of its repository: here from the modules that they are published as. */
async function kubernetesModule(folder: string): Promise<string> {
  const own = await readFile(join(await download(folder, kubernetes), 'go.mod'), 'utf8');
  const staged = [...own.matchAll(/^\s*(?:replace )?(k8s\.io\/[a-z-]+) => \.\/staging/gm)].map(([, path = '']) => path);
  const published = `v0.${versions.kubernetes.slice('1.'.length)}`;
  const replaced = staged.map((path) => `\t${path} => ${path} ${published}\n`).join('');
  return `module scratch\n\ngo 1.26.0\n\ngodebug default=go1.26\n\nrequire k8s.io/kubernetes v${versions.kubernetes}\n\nreplace (\n${replaced})\n`;
}

/** How nodes and pods come to be ready, and go: `stages.yaml`. */
async function writeStages(folder: string): Promise<void> {
  const sources = join(await download(folder, `sigs.k8s.io/kwok@v${kwok}`), 'kustomize/stage');
  const texts: string[] = [];
  for (const part of ['node/fast', 'node/heartbeat', 'pod/fast']) {
    for (const name of (await readdir(join(sources, part))).filter(isDefinition))
      texts.push(await readFile(join(sources, part, name), 'utf8'));
  }
  await writeFile(join(folder, 'stages.yaml'), texts.join('\n---\n'));
}
