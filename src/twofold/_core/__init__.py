"""What every stage may use: checks of user input, random generators and devices."""
