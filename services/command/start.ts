import { processEnv } from '@agent-workflow/kit/env';
import { runProcess } from '@agent-workflow/runtime/process';

/** The processes that the service is made of; `standalone` is all of them in one. */
export const processNames = ['standalone', 'gateway', 'threads', 'execution', 'memory'] as const;

type ProcessName = (typeof processNames)[number];

/** Runs a process of the service until it is to stop. The code of the other processes is not loaded. */
export async function start(name: ProcessName): Promise<void> {
  switch (name) {
    case 'standalone': {
      const { openWatchdog } = await import('@agent-workflow/execution/watchdog/watchdog');
      const { openStandalone } = await import('@agent-workflow/standalone/standalone');
      await runProcess(async (env) => openStandalone(env, { openWatchdog }));
      return;
    }
    case 'gateway': {
      const { openGatewayProcess } = await import('@agent-workflow/gateway/process');
      await runProcess(openGatewayProcess);
      return;
    }
    case 'threads': {
      const { openThreadsProcess } = await import('@agent-workflow/threads/process');
      await runProcess(openThreadsProcess);
      return;
    }
    case 'execution': {
      const { openExecutionProcess } = await import('@agent-workflow/execution/process');
      await runProcess(openExecutionProcess);
      return;
    }
    case 'memory': {
      const { openMemoryProcess } = await import('@agent-workflow/memory/process');
      await runProcess(openMemoryProcess);
      return;
    }
  }
}

/** An execution process that drives runs and takes no calls of the gateway: `ROLE=worker` unless the environment says otherwise. */
export async function startWorker(): Promise<void> {
  const { openExecutionProcess } = await import('@agent-workflow/execution/process');
  await runProcess(async (_env, stopping) => openExecutionProcess({ ROLE: 'worker', ...processEnv() }, stopping));
}
