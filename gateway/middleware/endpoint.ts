import { leastPace } from '../http/arrival.ts';
import type { Access, Authorize, Subject } from '../http/access.ts';
import { bodyReader } from '../http/body.ts';
import type { Context } from '../http/context.ts';
import type { Dialect } from '../http/dialect.ts';
import { accessOf, type Endpoint, type Route } from '../http/endpoint.ts';
import { takesForm } from '../http/form.ts';
import type { RequestConfig } from '../http/settings.ts';
import { answerer, type AnswerOptions } from './answer.ts';
import { checkAccess } from './authorize.ts';
import type { GatewayMeters } from './metrics.ts';
import { inputChecker, queryChecker } from './validate.ts';

interface EndpointOptions<Services> extends AnswerOptions {
  readonly dialect: Pick<Dialect, 'prefix'>;
  readonly config: RequestConfig;
  readonly services: Services;
  /** Absent: every caller may do everything. */
  readonly authorize: Authorize | undefined;
  /** What a request is about that has been read. */
  readonly subjectOf: (ctx: Context, row: Endpoint<Services>) => Promise<Subject>;
  /** Takes a slot for a stream of the caller. */
  readonly takeStreamSlot: (ctx: Context) => Promise<void>;
  /** Absent: nothing is measured. */
  readonly meters: GatewayMeters | undefined;
}

/** A body of JSON is short. */
const bodyArrival = { totalMs: 120_000, pace: leastPace };

/** Handles the requests that match a route of this row. The order of its steps is the order in which a request can be refused. */
export function endpointSteps<Services>(
  row: Endpoint<Services>,
  route: Route,
  options: EndpointOptions<Services>,
): (ctx: Context) => Promise<void> {
  const { authorize, subjectOf, admission, forms, takeStreamSlot, meters } = options;
  const access: Access | undefined = authorize && accessOf(row);
  const isStream = row.answer === 'events';
  const { method, path } = route;
  const matched = { name: row.name, path, isStream };
  const readBody =
    row.input && method !== 'GET'
      ? bodyReader({ maxBytes: options.config.MAX_BODY_BYTES, arrival: bodyArrival })
      : undefined;
  const checkQuery = queryChecker(row, route, options.dialect.prefix);
  const checkInput = inputChecker(row, method);
  const answer = answerer(row, options.services, options);

  return async (ctx) => {
    ctx.state.route = matched;
    if (authorize && access && !authorize.needsAgent) await checkAccess(ctx, authorize, access);
    checkQuery(ctx);
    if (row.takesFile) {
      if (!takesForm(ctx, forms)) return;
      admission.reserve(ctx, forms.bufferBytes);
    }
    if (readBody) {
      admission.reserveBody(ctx);
      if (!(await readBody(ctx))) return;
    }
    checkInput(ctx);
    if (authorize?.needsAgent && access && !ctx.state.byTicket) {
      const subject = await subjectOf(ctx, row);
      await checkAccess(ctx, authorize, access, subject);
      ctx.state.agent = subject.agent;
    }
    if (!isStream) {
      await answer(ctx);
      return;
    }
    await takeStreamSlot(ctx);
    meters?.streamsOpen.add({}, 1);
    try {
      await answer(ctx);
    } finally {
      meters?.streamsOpen.add({}, -1);
    }
  };
}
