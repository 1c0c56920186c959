import test from 'ava';
import { choice, ConfigError, crossCheck, integer, printable, readEnv, required, text } from './env.ts';

const settings = {
  HOST: text('127.0.0.1', 'Address to listen on.'),
  PORT: integer(8000, 'Port to listen on.', { min: 0, max: 65_535 }),
  LOG_LEVEL: choice(['info', 'debug'], 'info', 'How much is logged'),
  API_KEY: text<string | undefined>(undefined, 'Key of the model.', { secret: true }),
  PIN: { ...integer(0, 'A secret number.'), secret: true },
};

test('what is not set, or set to nothing, takes its fallback', (t) => {
  t.deepEqual(readEnv(settings, { PORT: '' }), {
    HOST: '127.0.0.1',
    PORT: 8000,
    LOG_LEVEL: 'info',
    API_KEY: undefined,
    PIN: 0,
  });
});

test('what is set is read', (t) => {
  const values = readEnv(settings, { HOST: '::', PORT: '0', LOG_LEVEL: 'debug', API_KEY: 'k', PIN: '7', OTHER: 'x' });
  t.deepEqual(values, { HOST: '::', PORT: 0, LOG_LEVEL: 'debug', API_KEY: 'k', PIN: 7 });
});

test('every fault is named at once, one line each, and a secret is not repeated', (t) => {
  const error = t.throws(() => readEnv(settings, { PORT: '70000', LOG_LEVEL: 'loud', PIN: 'letmein' }), {
    instanceOf: ConfigError,
  });
  t.deepEqual(error.message.split('\n'), [
    'PORT must be a whole number from 0 to 65535, not "70000"',
    'LOG_LEVEL must be one of info, debug, not "loud"',
    `PIN must be a whole number from 0 to ${String(Number.MAX_SAFE_INTEGER)}, not (hidden)`,
  ]);
});

test('a whole number is written in digits and nothing else', (t) => {
  for (const given of ['1.5', '1e3', '0x10', ' 8', '-1', 'NaN', '99999999999999999999']) {
    t.throws(() => readEnv({ PORT: settings.PORT }, { PORT: given }), { instanceOf: ConfigError }, given);
  }
});

test('what a start prints masks secrets and leaves out what is off', (t) => {
  const values = readEnv(settings, { PIN: '7' });
  t.deepEqual(printable(settings, values), { HOST: '127.0.0.1', PORT: 8000, LOG_LEVEL: 'info', PIN: '***' });
});

test('the name and the password in an address are neither printed nor repeated', (t) => {
  const addresses = {
    COLLECTOR: text('', 'Where traces go'),
    MONITORS: text('', 'Addresses, divided by commas'),
    PLAIN: text('', 'An address without a password'),
    LEVEL: choice(['one'], 'one', 'A word'),
  };
  const values = readEnv(addresses, {
    COLLECTOR: 'http://ada:letmein@collector:4318/v1',
    MONITORS: 'http://ada:letme,in@one:8222,http://ada:let@me/in@two:8222',
    PLAIN: 'https://host/path',
  });
  t.deepEqual(printable(addresses, values), {
    COLLECTOR: 'http://***@collector:4318/v1',
    MONITORS: 'http://***@two:8222',
    PLAIN: 'https://host/path',
    LEVEL: 'one',
  });
  t.throws(() => readEnv(addresses, { LEVEL: 'nats://ada:let me in@host' }), {
    message: 'LEVEL must be one of one, not "nats://***@host"',
  });
});

test('what must be set and is not is a fault among the others', (t) => {
  const needed = { ...settings, ADDRESS: required('Where it is') };
  const error = t.throws(() => readEnv(needed, { PORT: 'x', ADDRESS: '' }), { instanceOf: ConfigError });
  t.deepEqual(error.message.split('\n'), [
    'PORT must be a whole number from 0 to 65535, not "x"',
    'ADDRESS must be set',
  ]);
  t.is(readEnv(needed, { ADDRESS: 'here' }).ADDRESS, 'here');
});

const fitted = {
  ...{ LEAST: integer(0, 'The least'), MOST: integer(10, 'The most') },
  ...{ USER: text(undefined, 'Who'), PASSWORD: text(undefined, 'With what', { secret: true }) },
};
const { LEAST, MOST, USER, PASSWORD } = fitted;
const checks = [
  crossCheck({ LEAST, MOST }, ({ LEAST: least, MOST: most }) => {
    if (least > most) throw new ConfigError('MOST is less than LEAST');
  }),
  crossCheck({ USER, PASSWORD }, ({ USER: user, PASSWORD: password }) => {
    if ((user === undefined) !== (password === undefined)) throw new ConfigError('USER and PASSWORD are set together');
  }),
];

test('settings that do not fit together are named beside those that have a fault of their own', (t) => {
  const faultsOf = (env: Record<string, string>): readonly string[] | undefined =>
    t.throws(() => readEnv(fitted, env, checks), { instanceOf: ConfigError }).message.split('\n');
  t.deepEqual(faultsOf({ LEAST: '20', USER: 'ann' }), [
    'MOST is less than LEAST',
    'USER and PASSWORD are set together',
  ]);
  // What the first check would say of a number that cannot be read means nothing.
  t.deepEqual(faultsOf({ LEAST: '20', MOST: 'ten', USER: 'ann' }), [
    `MOST must be a whole number from 0 to ${String(Number.MAX_SAFE_INTEGER)}, not "ten"`,
    'USER and PASSWORD are set together',
  ]);
  t.like(readEnv(fitted, { LEAST: '1' }, checks), { LEAST: 1, MOST: 10 });
});

test('an error of a check that is no fault of the configuration is thrown as it is', (t) => {
  const broken = crossCheck({ LEAST }, () => {
    throw new RangeError('broken');
  });
  t.throws(() => readEnv(fitted, {}, [broken]), { instanceOf: RangeError, message: 'broken' });
});
