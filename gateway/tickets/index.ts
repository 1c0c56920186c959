/** Tickets that let their holders in to the stream of one run. */
export { withTickets } from './holders.ts';
export { openMemoryTicketStore } from './memory.ts';
export { ticketMs, type TicketStore } from './port.ts';
export { openRedisTicketStore } from './redis.ts';
export { makeTicket } from './ticket.ts';
