/** Tickets: each authenticates requests for the stream of one run. */
export { withTickets } from './authentication.ts';
export { openInProcessTicketStore } from './in-process.ts';
export { ticketMs, type TicketStore } from './port.ts';
export { openRedisTicketStore } from './redis.ts';
export { makeTicket } from './ticket.ts';
