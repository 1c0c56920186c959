import test from 'ava';
import { addressOf } from './caller.ts';

const asked = (peer: string | undefined, forwarded: string | undefined, hops: number): string => {
  const req = { socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': forwarded } };
  return addressOf({ req } as unknown as Parameters<typeof addressOf>[0], hops);
};

test('without a trusted proxy the address is that of the connection, whatever the caller claims', (t) => {
  t.is(asked('192.0.2.1', '203.0.113.9', 0), '192.0.2.1');
  t.is(asked(undefined, '203.0.113.9', 0), '');
});

test('behind proxies the entry is counted from the right, so that what a caller wrote before it changes nothing', (t) => {
  t.is(asked('10.0.0.1', '203.0.113.9', 1), '203.0.113.9');
  t.is(asked('10.0.0.1', '1.1.1.1, 2.2.2.2, 203.0.113.9', 1), '203.0.113.9');
  t.is(asked('10.0.0.1', '1.1.1.1,203.0.113.9 , 10.0.0.2', 2), '203.0.113.9');
});

test('fewer entries than proxies, or one that is no address, is the connection', (t) => {
  t.is(asked('10.0.0.1', '203.0.113.9', 2), '10.0.0.1');
  t.is(asked('10.0.0.1', undefined, 1), '10.0.0.1');
  for (const strange of ['', 'unknown', '_hidden', '203.0.113.9:80', 'a, b', '999.1.1.1'])
    t.is(asked('10.0.0.1', strange, 1), '10.0.0.1', strange);
});

test('an IPv6 network of 64 bits is one caller, and IPv4 in IPv6 is the IPv4', (t) => {
  const same = ['2001:db8:0:7::1', '2001:0DB8::7:0:0:0:2', '2001:db8:0:7:ffff::', '2001:db8:0:7:1:2:3:4'];
  t.deepEqual(new Set(same.map((address) => asked(address, undefined, 0))), new Set(['2001:db8:0:7::/64']));
  t.is(asked('2001:db8:0:8::1', undefined, 0), '2001:db8:0:8::/64');
  t.is(asked('::ffff:192.0.2.1', undefined, 0), '192.0.2.1');
  for (const mapped of ['::ffff:c000:201', '::FFFF:C000:0201', '0:0:0:0:0:ffff:192.0.2.1', '0:0:0:0:0:ffff:c000:201'])
    t.is(asked(mapped, undefined, 0), '192.0.2.1', mapped);
  t.is(asked('::1:ffff:192.0.2.1', undefined, 0), '0:0:0:0::/64');
  t.is(asked('::1', undefined, 0), '0:0:0:0::/64');
  t.is(asked('fe80::1%eth0', undefined, 0), 'fe80:0:0:0::/64');
  t.is(asked('64:ff9b::192.0.2.33', undefined, 0), '64:ff9b:0:0::/64');
});
