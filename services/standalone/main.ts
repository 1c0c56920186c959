import { enableCompileCache } from 'node:module';

// Compiled code is kept between starts: everything below is imported after this, so that it is found there.
enableCompileCache();

const { processEnv, ConfigError } = await import('@agent-workflow/kit/env');
const { untilSignal } = await import('@agent-workflow/kit/life');
const { openStandalone } = await import('./standalone.ts');

try {
  await using service = await openStandalone(processEnv());
  process.stdout.write(`${service.says}\n`);
  process.stdout.write(`Agent Workflow Service listens on ${service.url}\n`);
  await untilSignal();
} catch (error) {
  if (!(error instanceof ConfigError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
