// The documents that are ours to teach for a while.

import { post } from "./api.js";
import { serverNow } from "./history.js";

const AHEAD = 3; // items, the one that is shown included
const MOST_SKIPPED = 50;
const MARGIN = 5; // seconds before a lease ends in which nothing is begun

export class Queue {
  constructor() {
    this.items = [];
    this.skipped = []; // kept until we leave, or they would be given to us again
    this.asking = null;
  }

  /** Lease these documents, if nobody else has them. */
  async lease(ids) {
    return (await post("teach", { ids })).items;
  }

  /** Teach these documents before all others; returns those that we got. */
  async want(ids) {
    const items = await this.lease(ids);
    this.items.unshift(...items);
    return items;
  }

  /** Prolong the leases of this item and of those that follow; returns whether it is still ours. */
  async renew(item) {
    const items = [item, ...this.items];
    const { leases } = await post("teach/renew", { ids: items.map(({ id }) => id) });
    const until = new Map(leases.map((lease) => [`${lease.digest} ${lease.id}`, lease.leased_until]));
    for (const one of items) one.leased_until = until.get(`${one.digest} ${one.id}`) ?? 0;
    return item.leased_until > 0;
  }

  /** Get a lease back that was lost; returns whether that went well. */
  async regain(item) {
    if (await this.renew(item)) return true;
    const [again] = await this.lease([item.id]);
    if (again?.digest !== item.digest) return false;
    item.leased_until = again.leased_until;
    return true;
  }

  /** The next item, null where there is none. */
  async next() {
    this.items = this.items.filter((item) => secondsLeft(item) > MARGIN);
    if (!this.items.length) await this.fetch();
    const item = this.items.shift() ?? null;
    if (item && this.items.length < AHEAD - 1) this.fetch().catch(() => {}); // asked again when it is needed
    return item;
  }

  /** Take leases along when somebody gets another name: what they hold is held under a name. */
  async handOver(item, rename) {
    const items = item ? [item, ...this.items] : this.items;
    const ids = [...items, ...this.skipped].map(({ id }) => id);
    if (ids.length) await post("teach/release", { ids });
    rename();
    const again = items.length ? await this.lease(items.map(({ id }) => id)) : [];
    const until = new Map(again.map((lease) => [lease.id, lease.leased_until]));
    for (const one of items) one.leased_until = until.get(one.id) ?? 0;
    this.skipped = [];
  }

  /** Put an item first. */
  back(item) {
    this.items.unshift(item);
  }

  /** Leave an item to others. */
  skip(item) {
    this.skipped.push(item);
    if (this.skipped.length > MOST_SKIPPED) this.release([this.skipped.shift()]);
  }

  /** Give everything back, so that others can have it at once. */
  close() {
    this.release([...this.items, ...this.skipped]);
    this.items = this.skipped = [];
  }

  release(items) {
    const ids = items.map((item) => item.id);
    if (ids.length) post("teach/release", { ids }, { keepalive: true }).catch(() => {}); // their leases end anyway
  }

  fetch() {
    this.asking ??= post("teach", { most: AHEAD }).then(({ items }) => {
      this.items.push(...items);
    }).finally(() => {
      this.asking = null;
    });
    return this.asking;
  }
}

export function secondsLeft(item) {
  return item.leased_until - serverNow();
}
