// Loaded before a process of the service: its clock shows another time, and is stepped by SIGUSR2. `CLOCK_STEPS` lists by how many milliseconds
// it is ahead, first at the start and then after each signal, again and again.

const steps = (process.env['CLOCK_STEPS'] ?? '0').split(',').map(Number);
let step = 0;
process.on('SIGUSR2', () => (step = (step + 1) % steps.length));

const realNow = Date.now;
Date.now = () => realNow() + (steps[step] ?? 0);
globalThis.Date = new Proxy(Date, {
  construct: (target, given, newTarget) =>
    Reflect.construct(target, given.length === 0 ? [Date.now()] : given, newTarget) as Date,
});
