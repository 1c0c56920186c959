import { ConfigError, readEnv } from '@agent-workflow/kit/env';
import test from 'ava';
import { serviceAddress } from './service-address.ts';

const settings = { THREADS_ADDRESS: serviceAddress('threads') };
const read = (address: string): string => readEnv(settings, { THREADS_ADDRESS: address }).THREADS_ADDRESS;

const taken = [
  ...['threads:50051', 'demo-threads.agents.svc.cluster.local:50051', 'my_threads:1', 'threads.example.:65535'],
  ...['127.0.0.1:50051', '[::1]:50051', '[fd00::7]:1'],
  ...['dns:threads:50051', 'dns:///threads:50051', 'dns:///[::1]:50051', 'dns:///127.0.0.1:50051', 'dns:threads:443'],
  ...['dns://10.0.0.10/threads:50051', 'dns://10.0.0.10:53/threads:50051', 'dns://[fd00::53]:53/threads:50051'],
  ...['ipv4:127.0.0.1:50051', 'ipv4:10.0.0.1:50051,10.0.0.2:50052'],
  ...['ipv6:[::1]:50051', 'ipv6:[::1]:50051,[::2]:50051'],
  ...['unix:threads.sock', 'unix:/run/threads.sock', 'unix:///run/threads.sock'],
];

const refused = [
  ...['threads', '127.0.0.1', '::1', ':::1', '::1:50051', '[::1]', '[::1:50051', '[threads]:50051', '[]:50051'],
  ...[
    ':50051',
    'threads:',
    'threads:0',
    'threads:99999',
    'threads:-1',
    'threads:http',
    'threads:1:2',
    'threads:50051 ',
  ],
  ...['http://threads:50051', 'grpc:threads:50051', 'xds:///threads', 'DNS:///threads:50051', '//threads:50051'],
  ...['a b:1', 'user@threads:1', 'threads:1,threads:2', '10.0.0.256:1', '10.0.0:1', '50051'],
  ...['dns:', 'dns:50051', 'dns:///', 'dns:///threads:', 'dns:///threads:0', 'dns://threads:50051', 'dns:///:::1'],
  ...['dns://resolver/threads:50051', 'dns://10.0.0.10:0/threads:50051'],
  ...['ipv4:', 'ipv4:threads:50051', 'ipv4:10.0.0.1:1,', 'ipv4:10.0.0.1:99999', 'ipv4:[::1]:50051', 'ipv6:10.0.0.1:1'],
  ...['dns:threads', 'dns:///threads', 'dns:///[::1]', 'dns://10.0.0.10/threads', 'dns:///10.0.0.1'],
  ...['ipv4:10.0.0.1', 'ipv4:10.0.0.1:50051,10.0.0.2', 'ipv6:::1', 'ipv6:[::1]', 'ipv6:[::1]:50051,[::2]'],
  ...['unix:', 'unix://run/threads.sock', 'unix://threads.sock'],
];

test('an address of a service is a host with a port, or a target that gRPC knows', (t) => {
  for (const address of taken) t.is(read(address), address);
});

test('an address that no call could reach is refused when it is read', (t) => {
  for (const address of refused) t.throws(() => read(address), { instanceOf: ConfigError }, address);
});

test('the message of a refused address says what it must be', (t) => {
  t.throws(() => read(':::1'), {
    message:
      'THREADS_ADDRESS must be host:port, with a port from 1 to 65535 and IPv6 in brackets, or a gRPC target: dns:, ipv4: or ipv6: with such a port, or unix:, not ":::1"',
  });
  t.throws(() => read(''), { message: 'THREADS_ADDRESS must be set' });
});
