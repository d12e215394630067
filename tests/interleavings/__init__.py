"""Interleavings that were found on paper, each with a test that makes it happen.

What is not here has its test where it belongs:

==========================================  =====================================================
a reconcile or a Settle form of attempt 1,  test_a_form_of_another_attempt_changes_nothing_and_says_so
while attempt 2 runs                        test_a_verdict_that_comes_after_another_attempt_has_begun_judges_nothing
                                            test_settle_judges_only_the_attempt_that_was_examined
an approval is voided before begin          test_amb_24_void_takes_an_unused_approval_back_and_shuts_out_whoever_has_checked_it
                                            and, as browsers see it, test_moved_on.py
an on_commit hook raises after the commit   test_a_hook_that_fails_after_the_commit_is_logged_and_it_was_performed
                                            test_a_hook_that_fails_after_the_commit_does_not_hide_that_it_was_performed
a receiver of ours raises                   test_receivers_that_raise_break_nothing
the connection is lost during a COMMIT      test_a_commit_whose_answer_was_lost_was_performed
                                            test_a_connection_lost_at_the_commit_is_rolled_back_released_and_busy
                                            and, for every commit of a request, test_faults.py
one message is delivered twice              test_the_same_message_twice_does_nothing_twice
                                            test_the_same_message_to_two_workers_at_once_is_started_by_one
the process dies between begin and enqueue  test_a_request_that_is_killed_around_the_queue_has_its_effect_once
a body is slower than its lease             test_an_attempt_that_outlives_its_lease_is_rolled_back_where_it_was_taken_over
                                            and, three times over, test_slow.py
effects= changes while one is unknown       test_an_attempt_keeps_the_effects_that_it_began_with
                                            test_an_attempt_for_other_effects_than_the_action_has_now_is_given_back
                                            and, the other way round, test_moved_on.py
a 4xx after an external effect              test_amb_15_outside_another_response_is_unknown_and_answered_as_performing
                                            test_amb_13_outside_all_else_is_unknown_and_gets_a_reference_of_the_same_operation
a 302 with an error message                 test_messages.py
two async calls on one event loop           test_one_loop.py
the database fails on the claim             test_a_begin_that_the_database_prevents_is_lost_and_nothing_has_run
                                            test_from_any_moment_up_to_the_claim_nothing_is_performed
                                            and, at every statement of a request, test_faults.py
a cache is cleared                          test_nothing_depends_on_a_cache
                                            and, at every statement of a request, test_cache.py
==========================================  =====================================================
"""  # noqa: E501  the names of tests are what they are

from __future__ import annotations
