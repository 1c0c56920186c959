import { readFileSync } from 'node:fs';
import { align, number, type Figure } from './figure.ts';
import { toPeers, type PeerFigure, type Peers } from './peers.ts';

/** The system of the file that answers bytes from memory: ratios to it can be compared between machines. */
const bareName = 'bare Koa';

/** The peers of the file. @throws TypeError when it has another shape. */
export const readPeers = (): Peers =>
  toPeers(JSON.parse(readFileSync(new URL('./peers.json', import.meta.url), 'utf8')));

/** Ours of this run beside the peers' of their day, for the figures that both have; nothing when there are none. */
export function toPeersTable(peers: Peers, figures: readonly Figure[]): string {
  const shared = peers.figures.flatMap((theirs) => {
    const ours = figures.find(({ name, unit }) => name === theirs.name && unit === theirs.unit);
    return ours === undefined ? [] : [{ ours, theirs }];
  });
  if (shared.length === 0) return '';
  const head = [
    ['figure', 'this run', ...peers.systems.map(({ name }) => name)],
    ['', '', ...peers.systems.map(({ version }) => version)],
  ];
  const rows = shared.flatMap(({ ours, theirs }) => rowsOf(peers, ours, theirs));
  const software = Object.entries(peers.software).map((pair) => pair.join(' '));
  return [
    align([...head, ...rows]),
    '',
    `All but this run: ${peers.date}, ${peers.machine}; ${software.join(', ')}.`,
    ...peers.systems.map((system) => `- ${systemText(system)}`),
    `Absolute figures hold for the machine that they were measured on alone; ratios to ${bareName} can be compared.`,
  ].join('\n');
}

/** The values and, where bare Koa was measured, their ratios to it. */
function rowsOf({ systems }: Peers, ours: Figure, { name, unit, values }: PeerFigure): string[][] {
  const valueRow = [
    `${name}, ${unit}`,
    ours.ours === undefined ? '' : number(ours.ours),
    ...systems.map((system) => textOf(values[system.name])),
  ];
  const bare = values[bareName];
  if (bare === undefined) return [valueRow];
  const ratios = systems.map((system) => {
    const value = values[system.name];
    return textOf(value === undefined ? undefined : roughly(value / bare));
  });
  return [valueRow, [`  ratio to ${bareName}`, textOf(ours.ratio && roughly(ours.ratio)), ...ratios]];
}

const textOf = (value: number | undefined): string => (value === undefined ? '' : number(value));

/** Two digits: the file has no more of some figures. */
const roughly = (value: number): number => Number(value.toPrecision(2));

const systemText = ({ name, version, keepsOnDisk, note }: Peers['systems'][number]): string =>
  `${name} ${version}: ${keepsOnDisk ? 'data on disk' : 'nothing on disk'}${note === undefined ? '' : `; ${note}`}`;
