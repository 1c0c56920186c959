/** What was measured of other servers, as `peers.json` keeps it: data of one day and one machine. */
export interface Peers {
  /** The day of the measurement, as YYYY-MM-DD. */
  readonly date: string;
  readonly machine: string;
  /** Versions of what the systems ran on, by name. */
  readonly software: Readonly<Record<string, string>>;
  /** Whom the figures are of: this service on that day, its peers, and bare Koa. */
  readonly systems: readonly System[];
  readonly figures: readonly PeerFigure[];
}

interface System {
  readonly name: string;
  readonly version: string;
  /** Whether its data was on disk during the measurement. */
  readonly keepsOnDisk: boolean;
  readonly note?: string;
}

export interface PeerFigure {
  /** As the bench prints it. */
  readonly name: string;
  readonly unit: string;
  /** By the name of the system; one that was not measured is absent. */
  readonly values: Readonly<Record<string, number>>;
}

/** Checks the shape of the file. @throws TypeError that names the first field of another shape. */
export function toPeers(json: unknown): Peers {
  const file = toRecord(json, 'the file');
  const date = toText(file['date'], 'date');
  if (!/^\d{4}-\d\d-\d\d$/.test(date)) throw new TypeError('date must be YYYY-MM-DD');
  const software = toRecord(file['software'], 'software');
  const systems = toList(file['systems'], 'systems').map(toSystem);
  const names = new Set(systems.map(({ name }) => name));
  return {
    date,
    machine: toText(file['machine'], 'machine'),
    software: Object.fromEntries(Object.entries(software).map(([name, version]) => [name, toText(version, name)])),
    systems,
    figures: toList(file['figures'], 'figures').map((figure) => toFigure(figure, names)),
  };
}

function toSystem(json: unknown): System {
  const { name, version, keepsOnDisk, note } = toRecord(json, 'a system');
  if (typeof keepsOnDisk !== 'boolean') throw new TypeError('keepsOnDisk must be true or false');
  const system = { name: toText(name, 'name of a system'), version: toText(version, 'version'), keepsOnDisk };
  return note === undefined ? system : { ...system, note: toText(note, 'note') };
}

function toFigure(json: unknown, systems: ReadonlySet<string>): PeerFigure {
  const figure = toRecord(json, 'a figure');
  const name = toText(figure['name'], 'name of a figure');
  const values = Object.entries(toRecord(figure['values'], `values of "${name}"`)).map(([system, value]) => {
    if (!systems.has(system))
      throw new TypeError(`"${name}" has a value of "${system}", which is no system of the file`);
    if (typeof value !== 'number' || !(value > 0))
      throw new TypeError(`"${name}" of "${system}" must be a number above 0`);
    return [system, value] as const;
  });
  return { name, unit: toText(figure['unit'], `unit of "${name}"`), values: Object.fromEntries(values) };
}

function toRecord(json: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof json !== 'object' || json === null || Array.isArray(json))
    throw new TypeError(`${what} must be an object`);
  return json as Readonly<Record<string, unknown>>;
}

function toList(json: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(json)) throw new TypeError(`${what} must be a list`);
  return json;
}

function toText(json: unknown, what: string): string {
  if (typeof json !== 'string' || json === '') throw new TypeError(`${what} must be a text`);
  return json;
}
