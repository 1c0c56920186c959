import test from 'ava';
import { createMayReach, readNetwork } from './reachable.ts';

const mayReach = createMayReach([]);

test('addresses of the public internet are reached', (t) => {
  for (const address of ['1.1.1.1', '93.184.216.34', '172.32.0.1', '2606:4700::1111', '2a00:1450:4001:80e::200e'])
    t.true(mayReach(address), address);
});

test('private, loopback, link-local, mapped, translated and reserved addresses are not', (t) => {
  const addresses = [
    ...['127.0.0.1', '127.255.255.254', '0.0.0.0', '10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
    ...['169.254.169.254', '100.64.0.1', '100.127.255.255', '192.0.0.170', '198.18.0.1', '224.0.0.1', '240.0.0.1'],
    ...['255.255.255.255', '203.0.113.7', '::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::ffff:a9fe:a9fe'],
    ...[
      '64:ff9b::7f00:1',
      '64:ff9b::808:808',
      '64:ff9b:1::1',
      'fc00::1',
      'fd12::1',
      'fe80::1',
      'fe80::1%lo',
      'fec0::1',
    ],
    ...['ff02::1', '2001::1', '2001:db8::1', '2002:7f00:1::', '3fff::1', '5f00::1', '::127.0.0.1', '100::1'],
    ...['localhost', '', '127.1', '0x7f.1', '2130706433'],
  ];
  for (const address of addresses) t.false(mayReach(address), address);
});

test('networks that the operator names are reached, and no others', (t) => {
  const networks = ['10.1.0.0/16', '127.0.0.1', 'fd00::/8'].map((text) => readNetwork(text) ?? t.fail(text));
  const may = createMayReach(networks.filter((network) => typeof network === 'object'));
  for (const address of ['10.1.2.3', '127.0.0.1', 'fd00::5', '8.8.8.8']) t.true(may(address), address);
  for (const address of ['10.2.0.1', '127.0.0.2', 'fe80::1', '::ffff:10.2.0.1']) t.false(may(address), address);
  for (const text of ['10.0.0.0/33', 'fd00::/129', 'host', '10.0.0.0/', '', '10.0.0.0/8/8'])
    t.is(readNetwork(text), undefined);
});
