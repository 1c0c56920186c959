import test from 'ava';
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readPeers, toPeersTable } from './peers-table.ts';
import { toPeers } from './peers.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** The code of the groups, each run of white space as one blank. */
const code = globSync('*.ts', { cwd: folder, exclude: ['peers*.ts', 'cluster*.ts'] })
  .map((file) => readFileSync(`${folder}${file}`, 'utf8').replaceAll(/\s+/g, ' '))
  .join('\n');

const isPrinted = (name: string, unit: string): boolean =>
  code.includes(`'${name}', unit: '${unit}'`) || code.includes(`'${name}', '${unit}'`);

test('the file of the peers has its shape, and the bench prints every figure in it, in the same unit', (t) => {
  t.true(isPrinted('invoke, new thread, 16 callers', '/s'));
  t.false(isPrinted('invoke, new thread, 16 callers', 'ms'));
  const { figures } = readPeers();
  t.true(figures.length > 0);
  t.deepEqual(
    figures.filter(({ name, unit }) => !isPrinted(name, unit)),
    [],
  );
});

const small = {
  date: '2026-01-31',
  machine: 'one core',
  software: { Node: '24.0.0' },
  systems: [
    { name: 'a peer', version: '1.2.3', keepsOnDisk: true },
    { name: 'bare Koa', version: '3.0.0', keepsOnDisk: false },
  ],
  figures: [{ name: 'ping', unit: '/s', values: { 'a peer': 50, 'bare Koa': 200 } }],
};

test('a file of another shape is refused, with the field that is wrong', (t) => {
  t.deepEqual(toPeers(small), small);
  const figure = { name: 'ping', unit: '/s', values: {} };
  for (const [json, message] of [
    [null, /the file/],
    [{ ...small, date: 'yesterday' }, /date/],
    [{ ...small, software: { Node: 24 } }, /Node/],
    [{ ...small, systems: [{ name: 'a peer', version: '1.2.3' }] }, /keepsOnDisk/],
    [{ ...small, figures: [{ ...figure, values: { 'a peer': '50' } }] }, /must be a number/],
    [{ ...small, figures: [{ ...figure, values: { another: 50 } }] }, /no system of the file/],
  ] as const)
    t.throws(() => toPeers(json), { instanceOf: TypeError, message });
});

test('the table has the figures that both have, with versions, the date and ratios to bare Koa', (t) => {
  const figures = [
    { name: 'ping', unit: '/s', ours: 100, bare: 400, ratio: 0.25 },
    { name: 'ours alone', unit: 'ms', ours: 1 },
  ];
  const table = toPeersTable(toPeers(small), figures);
  t.regex(table, /^ping, \/s +100 +50 +200$/m);
  t.regex(table, /^ {2}ratio to bare Koa +0.25 +0.25 +1$/m);
  t.regex(table, /a peer 1\.2\.3: data on disk/);
  t.regex(table, /2026-01-31/);
  t.false(table.includes('ours alone'));
  t.is(toPeersTable(toPeers(small), figures.slice(1)), '');
});
