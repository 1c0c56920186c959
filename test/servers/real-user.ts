import type { ServerName } from './provisioned.ts';
import { leasePrivate, leaseShared } from './real-lease.ts';

/**
 * A process that uses a server: the one shared by those who meet in the folder, or a private one. It prints the port, and
 * ends with its input.
 */
const [server, meeting] = process.argv.slice(2) as [ServerName, string?];
await using lease = await (meeting === undefined
  ? leasePrivate(server, { isDurable: true })
  : leaseShared({ server, meeting }));
process.stdout.write(`${lease.port}\n`);
for await (const _ of process.stdin);
