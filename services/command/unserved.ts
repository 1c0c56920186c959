import { unservedWarning } from '@agent-workflow/protos/routing';
import { clientOf, isGatewayFault, type Gateway } from './gateway.ts';

/**
 * Warns on standard error where new runs of these agents go to revisions that have no worker, as `agents route` does. Where the gateway gives
 * no answer, a warning says so, and the command succeeds all the same: what it was to do is done.
 */
export async function warnOfUnserved(gateway: Gateway, names: readonly string[]): Promise<void> {
  try {
    const { agents } = clientOf(gateway);
    for (const name of names) {
      const { revisions = [] } = await agents.get(name);
      for (const { revision, percent, workers } of revisions)
        if (percent > 0 && workers === 0) warn(`agent ${name}: ${unservedWarning(revision)}`);
    }
  } catch (error) {
    if (!isGatewayFault(error)) throw error;
    warn(`it could not be seen whether workers are there: ${error.message}`);
  }
}

const warn = (text: string): void => void process.stderr.write(`warning: ${text}\n`);
