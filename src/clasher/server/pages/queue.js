// Documents that this user holds leases on.

import { post } from "./api.js";
import { serverNow } from "./history.js";

const AHEAD = 3; // items, including the one shown
const MOST_SKIPPED = 50;
const MARGIN = 5; // seconds: do not start an item whose lease ends sooner

export class Queue {
  constructor() {
    this.items = [];
    this.skipped = []; // held until the page closes, so that we do not get them again
    this.asking = null;
  }

  /** Lease documents that nobody else holds. */
  async lease(ids) {
    return (await post("teach", { ids })).items;
  }

  /** Lease documents and put them first; return those leased. */
  async want(ids) {
    const items = await this.lease(ids);
    this.items.unshift(...items);
    return items;
  }

  /** Renew the leases of this item and of the next; return whether we still hold it. */
  async renew(item) {
    const items = [item, ...this.items];
    const { leases } = await post("teach/renew", { ids: items.map(({ id }) => id) });
    const until = new Map(leases.map((lease) => [`${lease.digest} ${lease.id}`, lease.leased_until]));
    for (const one of items) one.leased_until = until.get(`${one.digest} ${one.id}`) ?? 0;
    return item.leased_until > 0;
  }

  /** Try to get a lost lease back; return whether it worked. */
  async regain(item) {
    if (await this.renew(item)) return true;
    const [again] = await this.lease([item.id]);
    if (again?.digest !== item.digest) return false;
    item.leased_until = again.leased_until;
    return true;
  }

  /** Return the next item, or null. */
  async next() {
    this.items = this.items.filter((item) => secondsLeft(item) > MARGIN);
    if (!this.items.length) await this.fetch();
    const item = this.items.shift() ?? null;
    if (item && this.items.length < AHEAD - 1) this.fetch().catch(() => {}); // tried again when needed
    return item;
  }

  /** Move the leases to the user's new name. */
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

  /** Put an item back as the next one. */
  back(item) {
    this.items.unshift(item);
  }

  /** Skip an item. */
  skip(item) {
    this.skipped.push(item);
    if (this.skipped.length > MOST_SKIPPED) this.release([this.skipped.shift()]);
  }

  /** Release all leases, so that others get the documents at once. */
  close() {
    this.release([...this.items, ...this.skipped]);
    this.items = this.skipped = [];
  }

  release(items) {
    const ids = items.map((item) => item.id);
    if (ids.length) post("teach/release", { ids }, { keepalive: true }).catch(() => {}); // the leases expire anyway
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
