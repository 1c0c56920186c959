import { loadAgent } from '@agent-workflow/execution/agents/load';
import { openAuth } from '@agent-workflow/gateway/auth/open';
import { hostOf } from '@agent-workflow/gateway/config';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { ConfigError, processEnv, readEnv } from '@agent-workflow/kit/env';
import { createLog } from '@agent-workflow/kit/log';
import { endSoon } from '@agent-workflow/runtime/process';
import { readServiceFile, type ServiceFile } from '@agent-workflow/runtime/service-file';
import { standaloneSettings } from '@agent-workflow/standalone/config';

/**
 * Does what a start does up to opening its data, and prints what it found. @returns 1 when something would stop a start.
 */
export async function check({ schema }: { readonly schema: boolean }): Promise<number> {
  return reporting(async () => {
    const values = readEnv(standaloneSettings, processEnv());
    const file = readServiceFile(values.SERVICE_CONFIG);
    using auth = await openAuth({
      file,
      config: values,
      host: hostOf(values, file),
      log: createLog('check', 'silent'),
    });
    const graph = await loadNamed(file);
    print(describe(file, graph));
    print([`callers  ${auth.summary}`]);
    print(graph.drawing.mermaid.trimEnd().split('\n'));
    if (schema) print([JSON.stringify(graph.fields, null, 2)]);
  });
}

/** Prints the agent with its nodes and tools. @returns 1 when it does not load. */
export async function agents(): Promise<number> {
  return reporting(async () => {
    const file = readServiceFile(readEnv(standaloneSettings, processEnv()).SERVICE_CONFIG);
    print(describe(file, await loadNamed(file)));
  });
}

async function loadNamed(file: ServiceFile): Promise<CompiledGraph> {
  if (file.agent === undefined) throw new ConfigError('service.json names no agent');
  return loadAgent(file.agent, file.folder);
}

const describe = (file: ServiceFile, graph: CompiledGraph): readonly string[] => [
  `agent    ${file.agent ?? ''}`,
  `nodes    ${[...graph.nodes.keys()].join(', ')}`,
  `tools    ${graph.tools.map(({ name }) => name).join(', ') || 'none'}`,
];

const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

async function reporting(work: () => Promise<void>): Promise<number> {
  try {
    await work();
    return 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return 1;
  } finally {
    endSoon();
  }
}
