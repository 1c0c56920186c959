import { request, type Connection, type RequestOptions } from './request.ts';
import type { Page, Paged } from './shapes/lists.ts';
import type { FiredSlots, NewSchedule, Schedule, ScheduleChange, ScheduleItem } from './shapes/schedules.ts';

export function schedulesOf(connection: Connection) {
  const at = (scheduleId: string, rest = '') => ({ path: `/v1/schedules/{scheduleId}${rest}`, ids: { scheduleId } });
  return {
    create: (body: NewSchedule, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'POST', path: '/v1/schedules', body, ...options }),
    /** The newest first. */
    list: (
      query: Pick<Page, 'limit' | 'cursor'> = {},
      options: RequestOptions = {},
    ): Promise<Paged & { readonly schedules: readonly ScheduleItem[] }> =>
      request(connection, { method: 'GET', path: '/v1/schedules', query, ...options }),
    /** With its next ten times and what became of its last twenty slots. */
    get: (scheduleId: string, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'GET', ...at(scheduleId), ...options }),
    update: (scheduleId: string, body: ScheduleChange, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'PATCH', ...at(scheduleId), body, ...options }),
    delete: (scheduleId: string, options: RequestOptions = {}): Promise<{ readonly success: boolean }> =>
      request(connection, { method: 'DELETE', ...at(scheduleId), ...options }),
    pause: (scheduleId: string, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'POST', ...at(scheduleId, '/pause'), ...options }),
    resume: (scheduleId: string, options: RequestOptions = {}): Promise<Schedule> =>
      request(connection, { method: 'POST', ...at(scheduleId, '/resume'), ...options }),
    /** Starts a run within moments. */
    run: (scheduleId: string, options: RequestOptions = {}): Promise<FiredSlots> =>
      request(connection, { method: 'POST', ...at(scheduleId, '/run'), ...options }),
    /** Starts a run for each slot of a past time, at most 100. */
    backfill: (
      scheduleId: string,
      body: { readonly from: string | number; readonly to: string | number },
      options: RequestOptions = {},
    ): Promise<FiredSlots> => request(connection, { method: 'POST', ...at(scheduleId, '/backfill'), body, ...options }),
  };
}
